"""The lock file: what is a new generation, and what is refused without one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from daicho.errors import DeclarationError
from daicho.plan import KeyPlan, Ledger
from daicho.plan.lockfile import append, locked, write
from tests.support.sample_plans import SONG, WITH_LISTING


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


def test_the_lock_file(tmp_path: Path) -> None:
    ledger = append([WITH_LISTING], Ledger())
    write(ledger, tmp_path / "lock.json")
    assert Ledger.load(tmp_path / "lock.json") == ledger
