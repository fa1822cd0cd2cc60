"""The layout of versions: keys, version items, marks and numbers."""

from __future__ import annotations

import datetime as dt

from hypothesis import given
from hypothesis import strategies as st

from daicho.layout import versions as laid
from daicho.layout.versions import VersionState
from daicho.storage.attributes import ItemKey, get_key
from tests.support.sample_project import LEDGER

NOW = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)
LATER = NOW + dt.timedelta(hours=1)
PAGE = {
    "PK": {"S": "t#Page#p"},
    "SK": {"S": "-"},
    "id": {"S": "p"},
    "title": {"S": "Title"},
    "type": {"S": "Page"},
    "version": {"N": "1"},
    "gen": {"N": "1"},
    "created_at": {"S": "2026-11-21T12:00:00.000000Z"},
}


@given(st.text(min_size=1, max_size=30), st.text(min_size=1, max_size=30))
def test_no_two_items_share_a_history(one: str, other: str) -> None:
    from daicho.storage import keys  # noqa: PLC0415

    places = {
        laid.render_history_partition(ItemKey(keys.render("t", "Page", *parts), sort), "Page")
        for parts, sort in (
            ((one, other), "-"),
            ((one,), keys.render(other)),
            ((other,), keys.render(one)),
            ((f"{one}#{other}",), "-"),
        )
    }
    assert len(places) == (3 if one == other else 4)
    assert all(place.startswith("t#@Page#") for place in places)


def standing(base: int | None, kept: int | None, newest: int | None) -> VersionState:
    item = None
    if base is not None:
        item = {**PAGE, "version": {"N": str(base)}}
        item |= {} if kept is None else {"_history": {"N": str(kept)}}
    known = None if newest is None else {"version": {"N": str(newest)}}
    return laid.read_state(item, known, by_pointer=False)


def test_what_had_no_version_item_gets_one() -> None:
    plan = LEDGER.current_generation("Article").plan
    before = standing(6, 4, 4)
    base = get_key(PAGE)
    item = laid.build_backfill_version_item(before, base, "Page")
    assert item is not None
    assert (item["SK"]["S"], item["title"]) == (laid.render_version_number(6), {"S": "Title"})
    assert laid.build_backfill_version_item(standing(4, 4, None), base, "Page") is None
    assert laid.build_backfill_version_item(VersionState(), base, "Page") is None
    mark = laid.build_deletion_marker(plan, base, before, LATER)
    assert (mark["SK"]["S"], laid.is_marker(mark)) == (laid.render_version_number(7), True)
    assert "title" not in mark


def test_by_pointer_a_mark_is_no_item() -> None:
    newest = laid.build_version_item(laid.split_versioned_image(PAGE, 2, NOW), "Page")
    assert laid.read_state(None, newest, by_pointer=True) == VersionState(newest, 2)
    mark = laid.build_deletion_marker(
        LEDGER.current_generation("Article").plan, get_key(PAGE), VersionState(newest, 2), LATER
    )
    assert laid.read_state(None, mark, by_pointer=True) == VersionState(None, 3)
    assert laid.read_state(None, None, by_pointer=True) == VersionState()
