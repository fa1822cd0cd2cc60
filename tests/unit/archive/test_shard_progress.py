"""The archiver's heartbeats: announced after what expired before them is archived."""

from __future__ import annotations

import datetime as dt

from daicho.archive.archiver import Archiver
from daicho.archive.shard_progress import build_progress_key
from daicho.layout.heartbeats import HeartbeatName, build_heartbeat
from daicho.storage.protocols import DescribesStream, StreamShard
from daicho.stream.claims import ShardClaims
from daicho.stream.heartbeat_watcher import HeartbeatRun, HeartbeatWatcher
from daicho.stream.records import Batch
from tests.support.memory_archive import MIDNIGHT, PATIENCE, build_expired_batch, render_seq
from tests.support.memory_stores import MemoryBucket, MemoryTable
from tests.support.sample_ledger import LEDGER
from tests.support.stream_events import build_raw_record

NOW = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)
RUN = HeartbeatRun("run", ("Download",))


class Stage(DescribesStream):
    """An archiver, and the watcher of its heartbeats."""

    def __init__(self) -> None:
        self.table, self.bucket = MemoryTable(), MemoryBucket()
        self.archiver = Archiver(self.table, self.bucket, LEDGER, now=lambda: NOW)
        self.watcher = HeartbeatWatcher(
            self.table, self, now=lambda: NOW, build_key=build_progress_key
        )

    def list_shards(self) -> tuple[StreamShard, ...]:
        return (StreamShard("s"),)

    def archive(self, *numbers: int, heartbeat: int, run: str = "run") -> str | None:
        image = build_heartbeat(HeartbeatName(run, "Download"), 1, NOW)
        beat = build_raw_record(heartbeat, (None, image), MIDNIGHT)
        expired = [record.raw for record in build_expired_batch(*numbers).records]
        batch = Batch.parse({"shardId": "s", "Records": [*expired, beat]})
        return self.archiver.archive(batch, PATIENCE)

    @property
    def progress(self) -> ShardClaims:
        return ShardClaims.from_item("s", self.table.get(build_progress_key("s")))


def test_a_heartbeat_passes_with_its_batch() -> None:
    stage = Stage()
    assert not stage.watcher.check(RUN).has_passed
    assert stage.archive(1, 2, heartbeat=3) is None
    assert stage.progress.low_watermark == render_seq(3)
    assert stage.watcher.check(RUN).has_passed
    assert not stage.watcher.check(HeartbeatRun("other", ("Download",))).has_passed
    stage.watcher.forget(RUN)
    assert stage.progress.heartbeats == {}
    assert stage.progress.low_watermark == render_seq(3)


def test_a_late_repeat_lowers_nothing() -> None:
    stage = Stage()
    stage.archive(1, heartbeat=3)
    stage.archive(4, heartbeat=5, run="other")
    stage.archive(1, heartbeat=3)
    assert stage.progress.low_watermark == render_seq(5)
    assert stage.progress.heartbeats == {
        HeartbeatName("run", "Download"): render_seq(3),
        HeartbeatName("other", "Download"): render_seq(5),
    }
