"""The watermark of figures: its stages, its scopes, and how it is stored."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from daicho.errors import ConditionFailedError
from daicho.storage.protocols import apply_update
from daicho.storage.table import Table
from daicho.tally.watermark import (
    ALL_SCOPES,
    LAG,
    WATERMARK_KEY,
    StagedTimes,
    Watermark,
    find_time,
    render_scope,
    store_watermark,
)
from daicho.testing.aws.memory_dynamodb import MemoryDynamoDB

START = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)
MINUTE = dt.timedelta(minutes=1)
EARLY, LATE, LATEST = (f"2026-11-21T11:5{digit}:00.000000Z" for digit in (1, 2, 3))


def run(watermark: Watermark, minute: int, *, is_complete: bool = True) -> Watermark:
    at = START + minute * MINUTE
    return watermark.end_run(at, at, is_complete=is_complete)


def test_a_time_is_rolled_up_two_complete_runs_after_it_was_read() -> None:
    watermark = Watermark().raise_live(EARLY, ())
    shown = []
    for minute in range(3):
        watermark = run(watermark, minute)
        shown.append(find_time(watermark.rolled_up))
    assert shown == ["", "", EARLY]
    assert run(watermark, 3) == watermark  # nothing to write while nothing changes


def test_a_run_that_is_not_complete_moves_no_time_to_the_totals() -> None:
    watermark = run(Watermark().raise_live(EARLY, ()), 0)
    late = run(watermark, 1, is_complete=False)
    assert late == watermark
    complete = run(late, 2, is_complete=False)
    assert (complete.totalled, complete.rolled_up) == (None, {})


def test_a_run_that_began_too_soon_may_not_see_every_mark() -> None:
    watermark = run(Watermark().raise_live(EARLY, ()), 0)
    soon = START + LAG - dt.timedelta(seconds=1)
    assert watermark.end_run(soon, START + MINUTE, is_complete=True) == watermark
    in_time = watermark.end_run(START + LAG, START + MINUTE, is_complete=True)
    assert in_time.totalled is not None


def test_totals_are_published_when_every_read_shows_them() -> None:
    watermark = run(run(Watermark().raise_live(EARLY, ()), 0), 1)
    soon = START + MINUTE + LAG - dt.timedelta(seconds=1)
    assert watermark.end_run(soon, soon, is_complete=True).rolled_up == {}
    in_time = START + MINUTE + LAG
    assert find_time(watermark.end_run(in_time, in_time, is_complete=True).rolled_up) == EARLY


def test_what_is_held_keeps_its_time_until_it_is_released() -> None:
    watermark = Watermark().raise_live(EARLY, ())
    held = watermark.raise_live(LATE, {"Song"})
    chart = render_scope("Song", "chart", 1)
    assert find_time(held.live) == LATE
    assert find_time(held.live, "Song") == find_time(held.live, chart) == EARLY
    assert find_time(held.live, render_scope("Order", "count", 1)) == LATE
    # The record is listed for a recount: the other figures of the entity are released.
    listed = held.raise_live(LATEST, {chart})
    assert find_time(listed.live, chart) == EARLY
    assert find_time(listed.live, render_scope("Song", "count", 1)) == LATEST
    assert find_time(listed.raise_live(LATEST, ()).live, chart) == LATEST


def test_a_lower_time_lowers_nothing() -> None:
    watermark = Watermark().raise_live(LATE, ())
    assert watermark.raise_live(EARLY, ()) == watermark


def test_a_scope_that_was_never_known_has_no_time() -> None:
    held = Watermark().raise_live(EARLY, {"Song"})
    assert held.get_as_of("Song", rolled_up=False) is None
    assert held.get_as_of("Order", rolled_up=False) == dt.datetime.fromisoformat(EARLY)
    assert held.get_as_of("Order", rolled_up=True) is None


@pytest.fixture
def table() -> Table:
    client: Any = MemoryDynamoDB(lambda: START)
    return Table(client, "daicho")


def test_it_is_read_as_it_was_stored(table: Table) -> None:
    stages = (None, StagedTimes({ALL_SCOPES: LATE}, EARLY))
    stored = Watermark()
    for marked in stages:
        for totalled in stages:
            wanted = Watermark({ALL_SCOPES: LATE, "Song": EARLY}, marked, totalled, {"Song": ""})
            apply_update(table, store_watermark(stored, wanted))
            read = Watermark.from_item(table.get(WATERMARK_KEY))
            assert (read.live, read.marked) == (wanted.live, wanted.marked)
            assert (read.totalled, read.rolled_up) == (wanted.totalled, wanted.rolled_up)
            assert read.revision == stored.revision + 1
            stored = read


def test_of_two_runs_that_overlap_the_first_one_stores_it(table: Table) -> None:
    raised = Watermark().raise_live(EARLY, ())
    apply_update(table, store_watermark(Watermark(), raised))
    with pytest.raises(ConditionFailedError):
        apply_update(table, store_watermark(Watermark(), raised.raise_live(LATE, ())))
    assert find_time(Watermark.from_item(table.get(WATERMARK_KEY)).live) == EARLY
