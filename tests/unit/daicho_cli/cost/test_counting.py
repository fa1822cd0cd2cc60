"""Units of counting, against the benchmarks of counting (docs/benchmarks/counting.md)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from daicho_cli.cost.counting import compute_stream_load, estimate_counting
from daicho_cli.cost.traffic import FigureTraffic, StreamTraffic, Traffic
from daicho_cli.cost.units import Units
from daicho_cli.cost.writes import Touches
from tests.unit.daicho_cli.cost.plans import CHART, COUNT


def test_a_total_that_is_rolled_up_at_once_is_written_for_each_batch() -> None:
    traffic = Traffic(days=0.01, stream=StreamTraffic(shards=1, batch_records=1, rollups=1))
    load = compute_stream_load(traffic, 10)
    at_once = replace(CHART, rolled_up="at once")
    known = FigureTraffic(new_groups=0)
    units = estimate_counting(at_once, known, Touches(10), 1, traffic, load)
    assert units[0] == Units(read=10 * 2, write=10 * 1 + 1 + 10 * (1 + 2))
    assert units[1] == Units(read=2, write=1 + 2)


def test_slots_of_old_shards_are_folded_once() -> None:
    month = Traffic(stream=StreamTraffic(shards=1, batch_records=1))
    load = compute_stream_load(month, 1_000_000)
    short = replace(month, days=2)
    units = estimate_counting(COUNT, FigureTraffic(), Touches(1_000_000), 1, month, load)
    other = estimate_counting(COUNT, FigureTraffic(), Touches(1_000_000), 1, short, load)
    # A shard lives four hours, so a month has 180 of them, and a fold costs 4 units.
    assert units[1].write - other[1].write == pytest.approx(180 * 4)
