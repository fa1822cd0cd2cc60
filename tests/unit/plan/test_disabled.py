"""Disabled instances: which they are, and that nothing is derived for them (rule 34)."""

from __future__ import annotations

from dataclasses import replace

from daicho.plan import Decisions, Ledger, append_generations
from daicho.stream.changes import PlannedImage
from tests.support.sample_members import CHANGED, WITH_LIST, disable, number

IMAGE = {
    name: {"S": value}
    for name, value in {
        **{"PK": "t#Member#1", "SK": "-", "type": "Member", "id": "1", "name": "ann", "team": "a"},
        "created_at": "2026-11-22T12:00:00.000000Z",
    }.items()
}


def list_rows(ledger: Ledger, generation: int) -> set[str]:
    """The instances of the rows that an image of a generation derives."""
    image = {**IMAGE, "gen": {"N": str(generation)}}
    rows = PlannedImage.parse(image, ledger).rows
    return {"@".join(key.sk.split("#")[:2]) for key in rows}


def test_images_of_no_generation_derive_a_disabled_instance() -> None:
    ledger = disable(WITH_LIST, CHANGED)
    assert ledger.disabled_instances == {"Member": {("listed", 1)}}
    assert list_rows(number(WITH_LIST, CHANGED), 1) == {"listed@1", "search@1"}
    assert list_rows(ledger, 1) == {"search@1"}
    assert list_rows(ledger, 2) == list_rows(ledger, 3) == {"listed@2", "search@1"}
    assert ledger.find_plan("Member", 1).listings


def test_what_the_generation_before_declares_may_answer_during_the_deployment() -> None:
    """It ended at once, or was superseded while it was built."""
    again = replace(CHANGED, listings=(replace(CHANGED.listings[0], shards=4),))
    superseded = Decisions(superseded=frozenset({"Member.listed"}))
    ledger = append_generations([again], number(WITH_LIST, CHANGED), superseded)
    assert ("listed", 2) not in ledger.newest_generation("Member").plan.derived_instances
    assert ledger.disabled_instances == {}
    assert list_rows(ledger, 2) == {"listed@1", "listed@2", "search@1"}
    noted = replace(again, fields={**again.fields, "note": "str"})
    ledger = append_generations([noted], ledger)
    assert ledger.list_disabled("Member") == {("listed", 2)}
    assert list_rows(ledger, 2) == {"listed@1", "search@1"}
