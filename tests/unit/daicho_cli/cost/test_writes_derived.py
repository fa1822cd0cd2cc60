"""Rows and groups of a change, counted by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from daicho.plan import Condition, Generation, RetiringPlan
from daicho_cli.cost.examples import EventKind, ItemEvent, build_image
from daicho_cli.cost.units import Units
from daicho_cli.cost.writes import (
    Touches,
    count_touches,
    estimate_row_writes,
    list_groups,
    list_row_images,
)
from tests.unit.daicho_cli.cost.plans import (
    CHART,
    COUNT,
    KEPT,
    OF_ARTIST,
    TITLED,
    VALUES,
    WEEK,
    generation,
)

SONG = generation(listings=(OF_ARTIST,), searches=(TITLED,), aggregates=(CHART, COUNT))


def event(kind: EventKind, declared: Generation = SONG, **changes: Any) -> ItemEvent:
    """An event of a song; ``changes``: of a change."""
    image = build_image(declared, VALUES)
    before = None if kind == "create" else image
    after = None if kind in {"delete", "expire"} else build_image(declared, {**VALUES, **changes})
    return ItemEvent(kind, 1, before, after, VALUES)


def sum_touches(declared: Generation, of: ItemEvent) -> dict[str, Touches]:
    """The groups that an event counts in, by the name of the aggregate."""
    touches: dict[str, Touches] = {}
    for aggregate, count in count_touches(declared.plan, of):
        if count.live:
            touches[aggregate.name] = touches.get(aggregate.name, Touches()) + count
    return touches


def test_a_row_costs_two_units_and_so_does_its_removal() -> None:
    # "aja" has the list of everything, and the grams "a", "aj" and "aja".
    rows = {"of_artist": Units(write=2), "titled": Units(write=4 * 2)}
    assert estimate_row_writes(SONG.plan, event("create")) == rows
    assert estimate_row_writes(SONG.plan, event("delete")) == rows
    assert estimate_row_writes(SONG.plan, event("expire")) == rows


def test_a_change_costs_the_rows_that_differ() -> None:
    assert estimate_row_writes(SONG.plan, event("change", price=5)) == {}
    moved = estimate_row_writes(SONG.plan, event("change", artist="bowie"))
    # One list loses its row and the other one gets it.
    assert moved == {"of_artist": Units(write=2 + 2)}
    renamed = estimate_row_writes(SONG.plan, event("change", title="Peg"))
    assert renamed == {"titled": Units(write=2 * 3 + 2 * 3)}


def test_a_copy_makes_a_row_larger() -> None:
    copying = generation(listings=(replace(OF_ARTIST, copies=("title",)),))
    long = {**VALUES, "title": "x" * 1_500}
    created = ItemEvent("create", 1, None, build_image(copying, long), long)
    assert estimate_row_writes(copying.plan, created) == {"of_artist": Units(write=2 + 2)}
    edited = event("change", copying, title="Peg")
    assert estimate_row_writes(copying.plan, edited) == {"of_artist": Units(write=1 + 1)}


def test_groups_are_touched_where_an_amount_changes() -> None:
    both = {"chart": Touches(1), "count": Touches(1)}
    assert sum_touches(SONG, event("create")) == both
    assert sum_touches(SONG, event("delete")) == both
    assert sum_touches(SONG, event("change", title="Peg")) == {}
    assert sum_touches(SONG, event("change", artist="bowie")) == {"chart": Touches(2)}


def test_an_expired_item_that_stays_counted_touches_two_slots() -> None:
    download = generation("Download", aggregates=(KEPT, COUNT), expires=WEEK)
    touches = sum_touches(download, event("expire", download))
    assert touches == {"kept": Touches(1, kept=1), "count": Touches(1)}
    assert sum_touches(download, event("delete", download))["kept"] == Touches(1)


def test_the_groups_are_those_of_the_examples() -> None:
    events = [event("create"), event("change", artist="bowie")]
    assert len(list_groups(SONG.plan, "chart", events)) == 2
    assert len(list_groups(SONG.plan, "count", events)) == 1


def test_writes_count_in_what_retires_too() -> None:
    total = replace(COUNT, since=2, where=Condition("artist", ("dan",)))
    song = generation(aggregates=(total,), retiring=RetiringPlan(aggregates=(CHART, COUNT)))
    assert sum_touches(song, event("create", song)) == {
        "chart": Touches(1),
        "count": Touches(2),
    }
    for name, groups in (("chart", 1), ("count", 2)):
        assert len(list_groups(song.plan, name, [event("create", song)])) == groups


def test_the_rows_of_an_item_carry_a_number() -> None:
    rows = dict(list_row_images(SONG.plan, build_image(SONG, VALUES)))
    assert set(rows) == {"of_artist", "titled"}
    assert all(len(row["seq"]["S"]) == 64 for row in rows.values())


@pytest.mark.parametrize("title", ["", None])
def test_an_item_without_a_text_is_in_the_list_of_everything(title: str | None) -> None:
    values = {**VALUES, "title": title}
    created = ItemEvent("create", 1, None, build_image(SONG, values), values)
    assert estimate_row_writes(SONG.plan, created)["titled"] == Units(write=2)
