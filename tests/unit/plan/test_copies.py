"""Copies of entities in the lock file, and the order of their generations."""

from __future__ import annotations

from dataclasses import replace

import pytest

from daicho.errors import DeclarationError
from daicho.layout.backfill_state import BackfillState, build_backfill_key
from daicho.plan import (
    Decisions,
    EntityPlan,
    ExpiryPlan,
    ItemCopy,
    KeyPlan,
    Ledger,
    append_generations,
)
from daicho.plan.lockfile import check_locked
from daicho.plan.model import MigrationPlan
from daicho.rebuild.requests import plan_targets
from daicho.release.commands import CommandAdmission
from daicho.release.refusals import ReleaseRefusedError, list_refusals
from tests.support.copied_members import COPIED, PERSON, SWITCHED, number
from tests.support.memory_stores import MemoryTable
from tests.support.sample_members import PLAIN, WITH_LIST


def test_a_copy_begins_with_the_generation_that_declares_it() -> None:
    listed = replace(COPIED, listings=WITH_LIST.listings)
    ledger = number(PLAIN, COPIED, listed)
    assert Ledger.from_json(ledger.to_json()) == ledger
    assert ledger.copies == {"Member": ItemCopy("Member", "Person", 2, is_switched=False)}
    assert ledger.copies_by_target == {"Person": ledger.copies["Member"]}
    reverted = Decisions(reverted=frozenset({"Member"}))
    undone = append_generations([PLAIN, PERSON], number(PLAIN, COPIED), reverted)
    assert undone.copies == {}
    again = append_generations([COPIED, PERSON], undone, reverted)
    assert again.copies["Member"].since == 4
    switched = number(PLAIN, COPIED, listed, SWITCHED).copies["Member"]
    assert switched == ItemCopy("Member", "Person", 2, is_switched=True)


def test_the_effect_is_described() -> None:
    assert (
        "daicho rebuild --copy Member --to Person is comp"
        in number(COPIED).copies["Member"].sentence
    )
    assert "Member are refused for good" in number(COPIED, SWITCHED).copies["Member"].sentence


def test_an_entity_is_copied_before_it_is_switched_and_never_used_again() -> None:
    with pytest.raises(DeclarationError, match=r'before its items were copied.*CopiedTo\("Person'):
        number(PLAIN, SWITCHED)
    with pytest.raises(DeclarationError, match="Member was switched to Person"):
        append_generations(
            [replace(PLAIN, listings=WITH_LIST.listings), PERSON], number(PLAIN, COPIED, SWITCHED)
        )
    with pytest.raises(DeclarationError, match="Member is removed, but Person is a copy"):
        append_generations([PERSON], number(PLAIN, COPIED))
    ledger = number(PLAIN, COPIED, SWITCHED)
    assert append_generations([PERSON], ledger) == ledger


def test_items_and_copies_do_not_change_apart_before_the_switch() -> None:
    expires = ExpiryPlan(60, archive=False)
    migrated = replace(PLAIN, migrations=(MigrationPlan("lower", 0, ("note",)),))
    for changed in (
        replace(COPIED, expires=expires),
        replace(migrated, copied_to=COPIED.copied_to),
    ):
        with pytest.raises(DeclarationError, match="Switch to Person first"):
            append_generations([changed, PERSON], number(PLAIN, COPIED))
    with pytest.raises(DeclarationError, match="Person: its expiry would change items of Member"):
        append_generations([COPIED, replace(PERSON, expires=expires)], number(PLAIN, COPIED))
    # The generation that begins the copy may change items: each of them is copied afterwards.
    number(PLAIN, replace(COPIED, expires=expires))


def test_code_of_before_the_copy_or_the_switch_writes_its_own_generation() -> None:
    assert check_locked([PLAIN], number(PLAIN, COPIED)).written == {"Member": 1}
    assert check_locked([COPIED, PERSON], number(PLAIN, COPIED, SWITCHED)).written == {"Member": 2}


def test_another_key_is_refused_with_the_way_to_it() -> None:
    other = replace(PLAIN, key=KeyPlan(("name",), ()))
    with pytest.raises(DeclarationError, match="daicho rebuild --copy Member --to Other"):
        append_generations([other], number(PLAIN))


def test_items_without_copies_need_a_rebuild() -> None:
    ledger = number(PLAIN, COPIED)
    assert plan_targets(ledger, {"Member": BackfillState("Member", 1, 2)}) == {"Member": 2}
    assert plan_targets(ledger, {"Member": BackfillState("Member", 2, 2)}) == {}
    switched = number(PLAIN, COPIED, SWITCHED)
    assert plan_targets(switched, {"Member": BackfillState("Member", 1, 3)}) == {}


def test_a_stage_refuses_the_switch_before_all_items_have_copies() -> None:
    ledger = number(PLAIN, COPIED, SWITCHED)
    (refusal,) = list_refusals(ledger, {"Member": BackfillState("Member", 1, 2)})
    assert "Deploy generation 2 first" in refusal
    assert "daicho rebuild --copy Member --to Person is complete" in refusal
    assert list_refusals(ledger, {"Member": BackfillState("Member", 2, 2)}) == []
    # Code of before the switch announced itself afterwards; it cannot write members.
    assert list_refusals(ledger, {"Member": BackfillState("Member", 1, 3)}) == []


@pytest.mark.parametrize(
    ("plans", "refused"),
    [((PLAIN, COPIED), ["Member", "Person"]), ((PLAIN, COPIED, SWITCHED), ["Member"])],
)
def test_commands_write_neither_items_nor_copies_of_them(
    plans: tuple[EntityPlan, ...], refused: list[str]
) -> None:
    ledger, table = number(*plans), MemoryTable()
    for entity in ("Member", "Person"):
        newest = ledger.newest_generation(entity).number
        table.batch_write([BackfillState(entity, newest, newest).to_item()])
        if entity in refused:
            with pytest.raises(ReleaseRefusedError, match="Member moves to Person"):
                CommandAdmission(table, ledger, [entity], lambda _: None).check()
        else:
            CommandAdmission(table, ledger, [entity], lambda _: None).check()
    assert table.get(build_backfill_key("Member")) is not None
