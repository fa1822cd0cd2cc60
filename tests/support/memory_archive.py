"""An archive in memory: downloads that expire, and whoever works on what is kept of them."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import Any

from daicho.archive.archiver import Archiver
from daicho.archive.forgetter import REWRITE_GRACE
from daicho.archive.reader import ArchiveReader, DayRange, Selection
from daicho.archive.rearchiver import Rearchiver
from daicho.archive.row_format import ArchivedRow
from daicho.archive.verifier import Verifier, VerifyReport
from daicho.redrive.failure_bucket import RearchiveResult
from daicho.runtime.retry import RetryBudget
from daicho.storage.attributes import Image
from daicho.stream.records import Batch, render_sequence
from tests.support.memory_stores import MemoryBucket, MemoryTable
from tests.support.sample_ledger import LEDGER, build_image
from tests.support.stream_events import LABEL, build_raw_record

DAY = 86400
MIDNIGHT = 1795219200  # 2026-11-21
TODAY = dt.date(2026, 11, 21)
WEEK_LATER = dt.datetime(2026, 11, 28, tzinfo=dt.UTC)
TTL = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
PATIENCE = RetryBudget(lambda: 300.0, reserve=20, sleep=lambda _: None)
HOME = "entity=Download/dt=2026-11-21/s_"


def build_download(number: int, tenant: str = "t", **more: Any) -> Image:
    values = {"song": "1", "id": str(number), "at": "2026-11-01T00:00:00.000000Z", "ttl": MIDNIGHT}
    return build_image("Download", {**values, **more}, tenant=tenant)


def build_expired_batch(
    *numbers: int, at: int = MIDNIGHT, shard: str = "s", **changed: Any
) -> Batch:
    """Removals by TTL. ``changed``: attributes of the images; ``tenant``: whose they are."""
    tenant = changed.pop("tenant", "t")
    records = []
    for number in numbers:
        old = {**build_download(number, tenant), **changed}
        records.append({**build_raw_record(number, (old, None), at), "userIdentity": TTL})
    return Batch.parse({"shardId": shard, "Records": records})


def render_seq(number: int) -> str:
    return render_sequence(LABEL, str(number))


def render_link_name(number: int) -> str:
    """The name of the link that follows a number; 0 is the start."""
    return f"{HOME}{render_seq(number).replace('#', '_') if number else '0'}.json.gz"


def render_side_name(number: int) -> str:
    return f"{HOME}side-{render_seq(number).replace('#', '_')}.json.gz"


@dataclass
class Kept:
    """A table and a bucket with an archive in it, by one clock, which stands."""

    table: MemoryTable = field(default_factory=MemoryTable)
    bucket: MemoryBucket = field(default_factory=MemoryBucket)
    now: dt.datetime = WEEK_LATER

    def __post_init__(self) -> None:
        self.bucket.now = lambda: self.now

    def grow_old(self) -> None:
        """Let time pass, until its objects may be rewritten."""
        self.now += REWRITE_GRACE

    @property
    def archive(self) -> ArchiveReader:
        return ArchiveReader(self.bucket)

    def append(self, *numbers: int, **more: Any) -> None:
        given = build_expired_batch(*numbers, **more)
        archiver = Archiver(self.table, self.bucket, LEDGER, now=lambda: self.now)
        assert archiver.archive(given, PATIENCE) is None

    def rejoin(self, *numbers: int, **more: Any) -> RearchiveResult:
        rejoiner = Rearchiver(self.table, self.bucket, LEDGER, now=lambda: self.now)
        return rejoiner.rearchive(build_expired_batch(*numbers, **more), PATIENCE)

    def verify(self, days: int = 1) -> VerifyReport:
        span = DayRange(TODAY, TODAY + dt.timedelta(days=days - 1))
        return Verifier(self.table, self.archive, now=lambda: self.now).verify(span, ["Download"])

    def kinds(self) -> list[str]:
        """What a verification finds, in short."""
        return sorted({each.kind for each in self.verify(3).findings})

    def rows(self) -> list[ArchivedRow]:
        return [
            row
            for each in self.archive.list_selected(Selection(("Download",)))
            for row in self.archive.read(each.name).rows
        ]

    def numbers(self) -> list[int]:
        return sorted(int(row.seq.rsplit("#")[-1]) for row in self.rows())
