"""The job that raises the watermark, over shard items, a failure bucket and a list of recounts."""

from __future__ import annotations

import datetime as dt
import logging

import pytest

from daicho.storage import keys
from daicho.storage.protocols import StreamShard
from daicho.stream import claims
from daicho.stream.shard_items import read_shard
from daicho.stream.watermark_job import (
    IDLE_INTERVAL,
    MAX_KEYS,
)
from tests.support.watermark_stack import MINUTE_S, Stack

ROOT, CHILD, OTHER_CHILD = (
    StreamShard("a", None, is_closed=True),
    StreamShard("b", "a"),
    StreamShard("c", "a"),
)


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


def test_without_a_time_of_every_shard_nothing_is_known() -> None:
    stack = Stack(CHILD, OTHER_CHILD)
    wanted = stack.announce("b", 1)
    assert stack.run() == ""
    stack.announce("c", 2)
    assert stack.run() == render(wanted)


def test_a_finished_shard_without_claims_is_read_once(stack: Stack) -> None:
    stack.run()
    stack.claim("a", 5)  # of a repeat: its record was handled before
    for key in (claims.build_shard_key("a"),):
        item = stack.dynamodb.find(key) or {}
        stack.dynamodb.commit(key, {n: v for n, v in item.items() if not n.startswith("GSI2")})
    stack.announce("b", 10)
    wanted = render(stack.announce("c", 11))
    assert stack.run() == wanted
    assert read_shard(stack.table, "a").open_claims != ()


def test_quiet_shards_get_heartbeats_while_figures_change(stack: Stack) -> None:
    stack.announce("b", 10)
    stack.announce("c", 11)
    stack.run(after_s=0, is_active=True)
    assert stack.count_heartbeats() == 0
    stack.run(is_active=False)
    assert stack.count_heartbeats() == 0
    stack.run(after_s=0, is_active=True)
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
