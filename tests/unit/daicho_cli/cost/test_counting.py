"""Units of counting, against the benchmarks of counting (docs/benchmarks/counting.md)."""

from __future__ import annotations

import random
from dataclasses import replace
from math import isclose
from statistics import fmean

import pytest

from daicho_cli.cost.counting import (
    build_slot,
    compute_stream_load,
    count_distinct,
    estimate_counting,
    estimate_idle_rollups,
    estimate_votes,
)
from daicho_cli.cost.traffic import FigureTraffic, StreamTraffic, Traffic
from daicho_cli.cost.units import Units, measure_write
from daicho_cli.cost.writes import Touches
from tests.unit.daicho_cli.cost.plans import CHART, COUNT

BENCH = Traffic(days=0.01, stream=StreamTraffic(shards=1, batch_records=1_000, rollups=2))
EVENTS = 120_000


@pytest.mark.parametrize(
    ("groups", "slots", "rollups"), [(10, 0.011, 0.001), (100, 0.103, 0.008), (1_000, 0.650, 0.075)]
)
def test_an_event_costs_what_make_bench_tally_measures(
    groups: int, slots: float, rollups: float
) -> None:
    load = compute_stream_load(BENCH, EVENTS)
    units = estimate_counting(CHART, FigureTraffic(), Touches(EVENTS), groups, BENCH, load)
    announced = (units[0].write + load.batches) / EVENTS
    assert isclose(announced, slots, rel_tol=0.05, abs_tol=0.001)
    assert isclose(units[1].write / EVENTS, rollups, rel_tol=0.05, abs_tol=0.001)


@pytest.mark.parametrize(
    ("rate", "window", "batch"),
    [(3.4, 0, 1), (3.4, 5, 17), (200, 0, 50), (200, 1, 200), (200, 5, 1_000), (900, 5, 1_000)],
)
def test_batches_follow_from_the_rate_and_the_window(
    rate: float, window: float, batch: float
) -> None:
    traffic = Traffic(days=1, stream=StreamTraffic(shards=2, window_seconds=window))
    records = rate * 2 * 86_400
    assert compute_stream_load(traffic, records).batches == pytest.approx(records / batch)


def test_a_stage_collects_for_a_second_by_default() -> None:
    records = 10 * 4 * 86_400
    load = compute_stream_load(Traffic(days=1), records)
    assert load.batches == pytest.approx(records / 10)


def test_one_event_in_one_rollup_by_hand() -> None:
    traffic = Traffic(days=0.01, stream=StreamTraffic(shards=1, batch_records=1, rollups=1))
    load = compute_stream_load(traffic, 1)
    plain = estimate_counting(COUNT, FigureTraffic(), Touches(1), 1, traffic, load)
    # The slot with its mark; the total, and the mark again. The total and the slots are read.
    assert plain[0] == Units(write=1 + 1)
    assert plain[1] == Units(read=2, write=1 + 2)
    new = estimate_counting(CHART, FigureTraffic(), Touches(1), 1, traffic, load)
    assert new[1].write == 1 + 2 + 1
    known = estimate_counting(CHART, FigureTraffic(new_groups=0), Touches(1), 1, traffic, load)
    assert known[1].write == 1 + 2 + 2
    kept = estimate_counting(COUNT, FigureTraffic(), Touches(1, kept=1), 1, traffic, load)
    assert kept[0] == Units(write=2 * (1 + 1))
    assert kept[1] == Units(read=2, write=1 + 2 * 2)


def test_a_total_that_is_rolled_up_at_once_is_written_for_each_batch() -> None:
    traffic = Traffic(days=0.01, stream=StreamTraffic(shards=1, batch_records=1, rollups=1))
    load = compute_stream_load(traffic, 10)
    at_once = replace(CHART, rolled_up="at once")
    known = FigureTraffic(new_groups=0)
    units = estimate_counting(at_once, known, Touches(10), 1, traffic, load)
    assert units[0] == Units(read=10 * 2, write=10 * 1 + 1 + 10 * (1 + 2))
    assert units[1] == Units(read=2, write=1 + 2)


def test_nothing_is_counted_without_events() -> None:
    load = compute_stream_load(Traffic(), 0)
    units = estimate_counting(CHART, FigureTraffic(), Touches(), 5, Traffic(), load)
    assert units[0] == units[1] == Units()
    assert estimate_votes(FigureTraffic(), 5, load)[0] == Units()


def test_slots_of_old_shards_are_folded_once() -> None:
    month = Traffic(stream=StreamTraffic(shards=1, batch_records=1))
    load = compute_stream_load(month, 1_000_000)
    short = replace(month, days=2)
    units = estimate_counting(COUNT, FigureTraffic(), Touches(1_000_000), 1, month, load)
    other = estimate_counting(COUNT, FigureTraffic(), Touches(1_000_000), 1, short, load)
    # A shard lives four hours, so a month has 180 of them, and a fold costs 4 units.
    assert units[1].write - other[1].write == pytest.approx(180 * 4)


def test_the_size_of_a_batch_follows_from_the_rate() -> None:
    quiet = compute_stream_load(Traffic(), 30_000)
    assert quiet.batches == 30_000
    at_once = Traffic(stream=StreamTraffic(window_seconds=0))
    busy = compute_stream_load(at_once, 30 * 86_400 * 4 * 4 * 10)
    assert busy.batches == pytest.approx(30 * 86_400 * 4 * 4)
    office = Traffic(stream=StreamTraffic(hours_a_day=8))
    assert compute_stream_load(office, 1).busy_rollups == pytest.approx(30 * 8 * 60)


def test_a_rollup_that_finds_nothing_reads_nine_units() -> None:
    load = compute_stream_load(Traffic(), 0)
    assert estimate_idle_rollups(Traffic(), load) == Units(read=43_200 * 9)


def test_a_vote_of_a_fast_counter_is_one_unit_and_its_share_of_a_rollup() -> None:
    traffic = Traffic(days=0.01, stream=StreamTraffic(rollups=1))
    load = compute_stream_load(traffic, 0)
    figure = FigureTraffic(votes=10_000, slots=8, new_groups=0)
    units = estimate_votes(figure, 3, load)
    assert units[0].write == pytest.approx(10_000 + 24)
    # The head, three totals in their ranking, and 24 marks; the head and eight slots are read.
    assert units[1].write == pytest.approx(1 + 3 * 3 + 24 * 2)
    assert units[1].read == pytest.approx(1 + 8)


def test_a_slot_costs_one_unit() -> None:
    slot = build_slot("tenant-one#+Song.chart#1#2026-11#heroes", CHART)
    assert measure_write(slot, slot) == 1


@pytest.mark.parametrize(("groups", "draws"), [(10, 5), (100, 1_000), (1_000, 1_000), (3, 2)])
def test_distinct_groups_are_what_draws_give_on_average(groups: int, draws: int) -> None:
    source = random.Random(1)
    drawn = [len({source.randrange(groups) for _ in range(draws)}) for _ in range(300)]
    assert count_distinct(groups, draws) == pytest.approx(fmean(drawn), rel=0.02)


def test_a_thousand_draws_of_a_thousand_groups_touch_632() -> None:
    assert round(count_distinct(1_000, 1_000)) == 632  # docs/benchmarks/counting.md


def test_less_than_one_of_either() -> None:
    assert count_distinct(0, 5) == count_distinct(5, 0) == 0
    assert count_distinct(1, 0.25) == 0.25
    assert count_distinct(1, 7) == 1
    assert count_distinct(10, 0.5) == 0.5
