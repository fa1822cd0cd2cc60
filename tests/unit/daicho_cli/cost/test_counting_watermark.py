"""What the times of figures cost: the cases of ADR 0174, and the job itself over idle hours."""

from __future__ import annotations

import random

import pytest

from daicho.storage.protocols import StreamShard
from daicho_cli.cost.counting import compute_stream_load, estimate_watermark
from daicho_cli.cost.traffic import StreamTraffic, Traffic
from daicho_cli.cost.units import Units
from tests.support.watermark_stack import Stack

MONTH_MINUTES = 43_200


def estimate(records: float, **stream: float) -> tuple[Units, float]:
    traffic = Traffic(stream=StreamTraffic(**stream))  # type: ignore[arg-type]
    return estimate_watermark(traffic, compute_stream_load(traffic, records))


def test_an_idle_table_sends_heartbeats_every_15_minutes() -> None:
    units, listings = estimate(0)
    assert listings == MONTH_MINUTES / 15
    assert units.read == MONTH_MINUTES * 5.5 + MONTH_MINUTES / 15
    assert 80_000 < units.write < 90_000


def test_shards_that_always_get_records_get_no_heartbeats() -> None:
    units, listings = estimate(30 * 86_400 * 100)
    assert listings == pytest.approx(MONTH_MINUTES)
    assert units.write == pytest.approx(MONTH_MINUTES, rel=0.01)
    assert units.read == pytest.approx(MONTH_MINUTES * 6.5)


def test_some_quiet_shards_get_heartbeats_each_minute() -> None:
    # A record a shard each 65 seconds: in every minute figures change, and half of the shards rest.
    units, _ = estimate(30 * 86_400 / 65 * 4)
    assert units.write == pytest.approx(430_000, rel=0.1)
    assert units.read == pytest.approx(280_000, rel=0.02)


def test_the_estimate_of_an_idle_table_is_what_the_job_does() -> None:
    """Six idle hours of four shards, in which each heartbeat reaches a shard at random."""
    chance, shards = random.Random(5), [StreamShard(name) for name in "abcd"]
    stack, written, announced = Stack(*shards), 0, 0
    for number, shard in enumerate(shards):
        stack.announce(shard.id, number)
    stack.run()
    minutes = 6 * 60
    for minute in range(minutes):
        before_run = stack.count_heartbeats()
        stack.run()
        sent = stack.count_heartbeats() - before_run
        reached = {chance.choice("abcd") for _ in range(sent)}
        for reached_shard in reached:
            stack.announce(reached_shard, 100 + minute)
        announced += len(reached)
        written += sent + 1  # the watermark
    expected = estimate(0)[0].write / MONTH_MINUTES * minutes
    assert written + announced == pytest.approx(expected, rel=0.1)
