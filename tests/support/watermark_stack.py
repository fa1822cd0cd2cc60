"""A table with items of stream shards, and the job that raises its watermark."""

from __future__ import annotations

import datetime as dt
from typing import Any

from daicho.errors import ThrottledError
from daicho.layout.heartbeats import is_heartbeat
from daicho.storage.protocols import StreamDescription, StreamShard, apply_update
from daicho.storage.table import Table
from daicho.stream import claims
from daicho.stream.claims import Announcement, Claim
from daicho.stream.watermark_job import CLOCK_TOLERANCE, RunStart, WatermarkJob
from daicho.tally.watermark import WATERMARK_KEY, Watermark
from daicho.testing.aws.memory_dynamodb import MemoryDynamoDB
from daicho.testing.clock import SimulatedClock
from tests.support.memory_stores import MemoryBucket

MINUTE_S = 60.0


class Stack:
    """A table with shard items, and a job that raises its watermark."""

    def __init__(self, *shards: StreamShard) -> None:
        self.clock = SimulatedClock()
        self.dynamodb = MemoryDynamoDB(self.clock.now)
        client: Any = self.dynamodb
        self.table = Table(client, "daicho")
        self.bucket = MemoryBucket()
        self.shards = shards
        self.is_failing, self.is_enabled, self.label = False, True, "l"
        self.job = self.build_job()

    def build_job(self) -> WatermarkJob:
        interval = dt.timedelta(seconds=45)
        bucket: Any = self.bucket
        return WatermarkJob(
            self.table, lambda: self, lambda: bucket, "Song", interval, self.clock.now
        )

    def list_shards(self) -> tuple[StreamShard, ...]:
        if self.is_failing:
            raise ThrottledError("describe")
        return self.shards

    def describe(self) -> StreamDescription:
        return StreamDescription(self.label, self.is_enabled, self.list_shards())

    def announce(self, shard: str, number: int) -> dt.datetime:
        """A batch begins with a record that is made now; the time that follows from it."""
        now = self.clock.now()
        announcement = Announcement(f"l#{number:04}", f"l#{number:04}", {}, now)
        apply_update(self.table, claims.announce_update(shard, announcement, now))
        return now - CLOCK_TOLERANCE

    def claim(self, shard: str, number: int, entity: str = "Song") -> Claim:
        claim = Claim(f"l#{number:04}", "uncertain", entity, 1, self.clock.now())
        name = claims.render_payload_name(shard, claim.seq)
        self.bucket.create(name, b"{}", {}, "application/json")
        apply_update(self.table, claims.put_claim_update(shard, claim))
        return claim

    def begin(self) -> RunStart:
        start = self.job.begin()
        assert start is not None
        return start

    def run(self, *, after_s: float = MINUTE_S, is_active: bool = False) -> str:
        """A run so much later; the live time after it."""
        self.clock.advance(after_s)
        self.job.finish(self.begin(), is_complete=True, is_active=is_active)
        return self.read_watermark().live

    def count_heartbeats(self) -> int:
        return sum(is_heartbeat(item) for _, item in self.dynamodb.items)

    def read_watermark(self) -> Watermark:
        """The watermark as it is stored."""
        return Watermark.from_item(self.table.get(WATERMARK_KEY, consistent=True))
