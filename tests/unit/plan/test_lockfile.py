"""The lock file: what is a new generation, and what is refused without one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from daicho.errors import DeclarationError
from daicho.plan import KeyPlan, Ledger
from daicho.plan.lockfile import append_generations, check_locked, write_lock_file
from tests.support.sample_plans import SONG, WITH_LISTING


def test_a_change_is_a_new_generation_and_keeps_what_did_not_change() -> None:
    first = append_generations([SONG], Ledger())
    second = append_generations([WITH_LISTING], first)
    assert [each.number for each in second.entities["Song"]] == [1, 2]
    newest = second.current_generation("Song").plan
    assert newest.searches[0].since == 1
    assert newest.listings[0].since == 2
    assert second.find_plan("Song", 1) == first.find_plan("Song", 1)
    assert append_generations([WITH_LISTING], second) == second


def test_a_declaration_that_comes_back_is_numbered_anew() -> None:
    ledger = Ledger()
    for plan in (WITH_LISTING, SONG, WITH_LISTING):
        ledger = append_generations([plan], ledger)
    assert ledger.current_generation("Song").plan.listings[0].since == 3


def test_a_field_that_is_read_otherwise_renumbers_its_readers() -> None:
    first = append_generations([SONG], Ledger())
    other = append_generations([replace(SONG, fields={"id": "int", "title": "str"})], first)
    assert other.current_generation("Song").plan.searches[0].since == 2


def test_a_change_without_a_generation_is_named() -> None:
    ledger = append_generations([SONG], Ledger())
    assert check_locked([SONG], ledger) is ledger
    with pytest.raises(DeclarationError, match=r"Song\.of_title changed without a new generation"):
        check_locked([WITH_LISTING], ledger)
    with pytest.raises(DeclarationError, match=r"Song\.search changed .*make generation"):
        check_locked([replace(SONG, searches=())], ledger)
    with pytest.raises(DeclarationError, match="Album changed"):
        check_locked([replace(SONG, name="Album")], ledger)


def test_items_may_move_from_now_on() -> None:
    still = replace(SONG, key=KeyPlan(("id",), ("title",)))
    ledger = append_generations([still], Ledger())
    moving = replace(still, key=replace(still.key, moves="title"))
    with pytest.raises(DeclarationError, match=r"Song\.key changed without a new generation"):
        check_locked([moving], ledger)
    assert append_generations([moving], ledger).current_generation("Song").plan.key.moves == "title"


def test_a_key_never_changes() -> None:
    ledger = append_generations([SONG], Ledger())
    moved = replace(SONG, key=KeyPlan(("id",), (), shards=4))
    with pytest.raises(DeclarationError, match=r"Song\.key changed: its items would not be found"):
        append_generations([moved], ledger)


def test_the_lock_file(tmp_path: Path) -> None:
    ledger = append_generations([WITH_LISTING], Ledger())
    write_lock_file(ledger, tmp_path / "lock.json")
    assert Ledger.load(tmp_path / "lock.json") == ledger
