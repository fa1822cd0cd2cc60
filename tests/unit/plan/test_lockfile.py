from dataclasses import replace
from pathlib import Path

import pytest

from daicho.errors import DeclarationError
from daicho.plan import (
    AggregatePlan,
    EntityPlan,
    KeyPlan,
    Ledger,
    ListingPlan,
    NewerGenerationError,
    Part,
    SearchPlan,
    UnknownEntityError,
)
from daicho.plan.lockfile import append, locked, write

SONG = EntityPlan(
    "Song",
    {"id": "str", "title": "str"},
    KeyPlan(("id",), ()),
    searches=(SearchPlan("search", 0, ("title",), (1, 2)),),
)
WITH_LISTING = replace(
    SONG, listings=(ListingPlan("of_title", 0, (Part("title"),), ("created_at",)),)
)


def test_a_change_is_a_new_generation_and_keeps_what_did_not_change() -> None:
    first = append([SONG], Ledger())
    second = append([WITH_LISTING], first)
    assert [each.number for each in second.entities["Song"]] == [1, 2]
    newest = second.current("Song").plan
    assert newest.searches[0].since == 1
    assert newest.listings[0].since == 2
    assert second.plan("Song", 1) == first.plan("Song", 1)
    assert append([WITH_LISTING], second) == second


def test_a_declaration_that_comes_back_is_numbered_anew() -> None:
    ledger = Ledger()
    for plan in (WITH_LISTING, SONG, WITH_LISTING):
        ledger = append([plan], ledger)
    assert ledger.current("Song").plan.listings[0].since == 3


def test_a_field_that_is_read_otherwise_renumbers_its_readers() -> None:
    first = append([SONG], Ledger())
    other = append([replace(SONG, fields={"id": "int", "title": "str"})], first)
    assert other.current("Song").plan.searches[0].since == 2


def test_a_change_without_a_generation_is_named() -> None:
    ledger = append([SONG], Ledger())
    assert locked([SONG], ledger) is ledger
    with pytest.raises(DeclarationError, match=r"Song\.of_title changed without a new generation"):
        locked([WITH_LISTING], ledger)
    with pytest.raises(DeclarationError, match=r"Song\.search changed .*make generation"):
        locked([replace(SONG, searches=())], ledger)
    with pytest.raises(DeclarationError, match="Album changed"):
        locked([replace(SONG, name="Album")], ledger)


def test_items_may_move_from_now_on() -> None:
    still = replace(SONG, key=KeyPlan(("id",), ("title",)))
    ledger = append([still], Ledger())
    moving = replace(still, key=replace(still.key, moves="title"))
    with pytest.raises(DeclarationError, match=r"Song\.key changed without a new generation"):
        locked([moving], ledger)
    assert append([moving], ledger).current("Song").plan.key.moves == "title"


def test_a_key_never_changes() -> None:
    ledger = append([SONG], Ledger())
    moved = replace(SONG, key=KeyPlan(("id",), (), shards=4))
    with pytest.raises(DeclarationError, match=r"Song\.key changed: its items would not be found"):
        append([moved], ledger)


def test_images_of_other_generations() -> None:
    ledger = append([SONG], Ledger())
    with pytest.raises(NewerGenerationError):
        ledger.plan("Song", 2)
    with pytest.raises(UnknownEntityError):
        ledger.plan("Song", 0)
    with pytest.raises(UnknownEntityError, match="'Album'"):
        ledger.plan("Album", 1)


def test_types_of_old_generations_still_wake_the_projector() -> None:
    ledger = append([replace(SONG, searches=())], append([SONG], Ledger()))
    assert ledger.derived_types == ("Song",)


def test_the_lock_file(tmp_path: Path) -> None:
    ledger = append([WITH_LISTING], Ledger())
    write(ledger, tmp_path / "lock.json")
    assert Ledger.load(tmp_path / "lock.json") == ledger


def test_a_lock_file_from_before_rankings_had_shards_means_one() -> None:
    chart = AggregatePlan("chart", 0, "count", None, (Part("title"),), (), ranked=True)
    ledger = append([replace(SONG, aggregates=(chart,))], Ledger())
    data = ledger.to_json()
    (stored,) = data["entities"]["Song"][0]["plan"]["aggregates"]
    assert stored.pop("shards") == 1
    assert Ledger.from_json(data) == ledger
    spread = append([replace(SONG, aggregates=(replace(chart, shards=4),))], ledger)
    assert [each.plan.aggregates[0].since for each in spread.entities["Song"]] == [1, 2]


def test_a_lock_file_says_only_of_others_when_they_are_rolled_up() -> None:
    chart = AggregatePlan("chart", 0, "count", None, (Part("title"),), (), ranked=True)
    ledger = append([replace(SONG, aggregates=(chart,))], Ledger())
    (stored,) = ledger.to_json()["entities"]["Song"][0]["plan"]["aggregates"]
    assert "rolled_up" not in stored
    prompt = replace(SONG, aggregates=(replace(chart, rolled_up="at once"),))
    changed = append([prompt], ledger)
    assert [each.plan.aggregates[0].since for each in changed.entities["Song"]] == [1, 1]
    assert Ledger.from_json(changed.to_json()) == changed
    assert changed.rolled_up_at_once == {("Song", "chart", 1)}
    with pytest.raises(DeclarationError, match=r"Song\.chart changed without a new generation"):
        locked([prompt], ledger)
