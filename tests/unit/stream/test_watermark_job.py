"""The job that raises the watermark, over shard items, a failure bucket and a list of recounts."""

from __future__ import annotations

import datetime as dt
import logging
from typing import Any

import pytest

from daicho.errors import ThrottledError
from daicho.layout.heartbeats import is_heartbeat
from daicho.storage import keys
from daicho.storage.protocols import StreamShard, apply_update
from daicho.storage.table import Table
from daicho.stream import claims
from daicho.stream.claims import Announcement, Claim
from daicho.stream.recount_list import build_recount_mark
from daicho.stream.watermark_job import (
    CLOCK_TOLERANCE,
    IDLE_INTERVAL,
    MAX_KEYS,
    RunStart,
    WatermarkJob,
)
from daicho.tally.watermark import WATERMARK_KEY, Watermark, find_time, render_scope
from daicho.testing.aws.memory_dynamodb import MemoryDynamoDB
from daicho.testing.aws.memory_stores import MemoryBucket
from daicho.testing.clock import SimulatedClock

MINUTE_S = 60.0
ROOT, CHILD, OTHER_CHILD = (
    StreamShard("a", None, is_closed=True),
    StreamShard("b", "a"),
    StreamShard("c", "a"),
)
OBJECT = "aws/lambda/0/a/2026/11/21/2026-11-21T12.00.00-0-0-0-0-0"


class Stack:
    """A table with shard items, and a job that raises its watermark."""

    def __init__(self, *shards: StreamShard) -> None:
        self.clock = SimulatedClock()
        self.dynamodb = MemoryDynamoDB(self.clock.now)
        client: Any = self.dynamodb
        self.table = Table(client, "daicho")
        self.bucket = MemoryBucket()
        self.shards = shards
        self.is_failing = False
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

    def announce(self, shard: str, number: int) -> dt.datetime:
        """A batch begins with a record that is made now; the time that follows from it."""
        now = self.clock.now()
        announcement = Announcement(f"l#{number:04}", f"l#{number:04}", {}, now)
        apply_update(self.table, claims.announce_update(shard, announcement, now))
        return now - CLOCK_TOLERANCE

    def claim(self, shard: str, number: int, entity: str = "Song") -> Claim:
        claim = Claim(f"l#{number:04}", "uncertain", entity, 1, self.clock.now())
        apply_update(self.table, claims.put_claim_update(shard, claim))
        return claim

    def begin(self) -> RunStart:
        start = self.job.begin()
        assert start is not None
        return start

    def run(self, *, is_active: bool = False) -> str:
        """A run; the live time of a figure of songs after it."""
        self.job.finish(self.begin(), is_complete=True, is_active=is_active)
        return self.find_live("Song")

    def find_live(self, scope: str) -> str:
        watermark = Watermark.from_item(self.table.get(WATERMARK_KEY, consistent=True))
        return find_time(watermark.live, scope)

    def count_heartbeats(self) -> int:
        return sum(is_heartbeat(item) for _, item in self.dynamodb.items)


def render(time: dt.datetime) -> str:
    return keys.render_instant(time)


@pytest.fixture
def stack() -> Stack:
    """Two open shards, and their parent, which was handled."""
    stack = Stack(ROOT, CHILD, OTHER_CHILD)
    for number, shard in enumerate("abc", 1):
        stack.announce(shard, number)
        stack.clock.advance(MINUTE_S)
    return stack


def test_the_oldest_shard_decides(stack: Stack) -> None:
    wanted = stack.announce("b", 10)
    stack.clock.advance(MINUTE_S)
    stack.announce("c", 11)
    assert stack.run() == render(wanted)


def test_a_shard_that_was_not_begun_has_the_time_of_its_parent() -> None:
    stack = Stack(ROOT, CHILD, OTHER_CHILD)
    wanted = stack.announce("a", 1)
    stack.clock.advance(MINUTE_S)
    stack.announce("b", 2)
    assert stack.run() == render(wanted)


def test_without_a_time_of_every_shard_nothing_is_known() -> None:
    stack = Stack(CHILD, OTHER_CHILD)
    stack.announce("b", 1)
    assert stack.run() == ""
    wanted = stack.announce("c", 2)
    assert stack.run() == render(wanted)


@pytest.mark.parametrize("shard", ["a", "b", "forgotten"])
def test_an_open_claim_holds_its_entity_until_it_is_done(stack: Stack, shard: str) -> None:
    held = stack.run()
    claim = stack.claim(shard, 5)
    stack.announce("b", 10)
    wanted = stack.announce("c", 11)
    assert stack.run() == held
    assert stack.find_live("Order") == render(wanted)
    apply_update(stack.table, claims.finish_update(shard, claim, stack.clock.now()))
    stack.clock.advance(MINUTE_S)
    stack.announce("b", 12)
    wanted = stack.announce("c", 13)
    assert stack.run() == render(wanted)


def test_a_claim_without_an_entity_holds_everything(stack: Stack) -> None:
    held = stack.run()
    stack.claim("b", 5, entity="")
    stack.announce("b", 10)
    stack.announce("c", 11)
    assert stack.run() == held
    assert stack.find_live("Order") == held


def test_a_batch_in_the_failure_bucket_holds_everything(stack: Stack) -> None:
    held = stack.run()
    stack.bucket.create(OBJECT, b"{}", {}, "application/json")
    stack.announce("b", 10)
    wanted = stack.announce("c", 11)
    assert stack.run() == held
    stack.bucket.move(OBJECT, f"done/{OBJECT}")
    assert stack.run() == render(wanted)


def test_a_recount_holds_its_instance_alone(stack: Stack) -> None:
    held = stack.run()
    tally = keys.render("t", "+Song.chart", "1", "x")
    mark = build_recount_mark(tally, "l#0005", None, stack.clock.now())
    apply_update(stack.table, mark)
    stack.announce("b", 10)
    wanted = render(stack.announce("c", 11))
    assert stack.run() == wanted
    assert stack.find_live(render_scope("Song", "chart", 1)) == held
    assert stack.find_live(render_scope("Song", "chart", 2)) == wanted


def test_a_finished_shard_without_claims_is_read_once(stack: Stack) -> None:
    stack.run()
    stack.claim("a", 5)  # of a repeat: its record was handled before
    for key in (claims.build_shard_key("a"),):
        item = stack.dynamodb.find(key) or {}
        stack.dynamodb.commit(key, {n: v for n, v in item.items() if not n.startswith("GSI2")})
    stack.announce("b", 10)
    wanted = render(stack.announce("c", 11))
    assert stack.run() == wanted
    assert stack.build_job()._read_shards({"a"})["a"].open_claims != ()


def test_a_slow_run_does_not_replace_the_watermark_of_a_later_one(stack: Stack) -> None:
    slow = stack.begin()
    stack.announce("b", 10)
    stack.announce("c", 11)
    later = stack.run()
    stack.job.finish(slow, is_complete=True, is_active=False)
    assert stack.find_live("Song") == later


def test_quiet_shards_get_heartbeats_while_figures_change(stack: Stack) -> None:
    stack.announce("b", 10)
    stack.announce("c", 11)
    stack.run(is_active=True)
    assert stack.count_heartbeats() == 0
    stack.clock.advance(MINUTE_S)
    stack.run(is_active=False)
    assert stack.count_heartbeats() == 0
    stack.run(is_active=True)
    assert 2 <= stack.count_heartbeats() <= MAX_KEYS
    before = stack.count_heartbeats()
    stack.clock.advance(IDLE_INTERVAL.total_seconds())
    stack.run(is_active=False)
    assert stack.count_heartbeats() > before


def test_a_store_that_does_not_answer_raises_nothing(
    stack: Stack, caplog: pytest.LogCaptureFixture
) -> None:
    stack.is_failing = True
    with caplog.at_level(logging.ERROR):
        assert stack.job.begin() is None
    assert "not raised" in caplog.text
