"""The status of the entities of a stage and of a checkout."""

from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console

from daicho.layout.backfill_state import BackfillState
from daicho.plan import EntityPlan, KeyPlan, Ledger, ListingPlan, Part, append_generations
from daicho.release.instance_states import InstanceState
from daicho.release.states import StageStates
from daicho_cli.status import EntityStatus, build_document, list_entity_statuses, print_statuses

LISTED = ListingPlan("listed", 0, (Part("name"),), ("created_at",))
PLAIN = EntityPlan("User", {"id": "str", "name": "str"}, KeyPlan(("id",), ()))
USER = replace(PLAIN, listings=(LISTED,))
EMPTY = StageStates({}, is_recorded=False, is_empty=True)


def number(*plans: EntityPlan) -> Ledger:
    ledger = Ledger()
    for plan in plans:
        ledger = append_generations([plan], ledger)
    return ledger


def find_status(ledger: Ledger, stage: StageStates) -> EntityStatus:
    (status,) = list_entity_statuses(ledger, stage)
    return status


def make_stage(oldest: int, newest: int) -> StageStates:
    state = BackfillState("User", oldest, newest)
    return StageStates({"User": state}, is_recorded=True, is_empty=False)


def test_a_newer_checkout_shows_the_instances_of_the_stage() -> None:
    assert find_status(number(USER), make_stage(1, 1)).difference == ""
    ledger = number(USER, replace(USER, listings=(replace(LISTED, shards=4),)))
    status = find_status(ledger, make_stage(1, 1))
    assert [(each.since, each.state) for each in status.instances] == [(1, InstanceState.SERVING)]
    assert status.difference == "User: the stage has generation 1, this checkout generation 2"


def test_a_stage_that_is_ahead_has_instances_that_nobody_knows() -> None:
    status = find_status(number(USER), make_stage(1, 2))
    assert status.instances == ()
    assert status.difference == "User: the stage has generation 2, this checkout generation 1"


def test_what_quarantine_blocks_is_printed() -> None:
    statuses, set_aside = list_entity_statuses(number(USER), make_stage(1, 1)), {"User": 2, "": 1}
    console = Console(file=io.StringIO(), width=300)
    print_statuses("table", statuses, console=console, set_aside=set_aside)
    assert isinstance(console.file, io.StringIO)
    unread, user = console.file.getvalue().splitlines()[-2:]
    assert unread.startswith(
        "unknown entity: 1 records are set aside. Until daicho redrive applies"
    )
    assert "no instance of any entity that is building becomes complete" in unread
    assert user.startswith("User: 2 records are set aside")
    assert "no instance of User that is building becomes complete" in user
    document = build_document("table", statuses, set_aside=set_aside)
    assert document["set_aside"] == {"": 1, "User": 2}


def test_an_entity_of_one_side_only() -> None:
    status = find_status(number(USER), EMPTY)
    assert (status.deployed, status.instances) == (0, ())
    assert "the stage does not have it" in status.difference
    status = find_status(Ledger(), make_stage(1, 3))
    assert (status.deployed, status.checkout, status.instances) == (3, 0, ())
    assert "this checkout does not know it" in status.difference


def test_a_table_without_backfill_items_has_an_unknown_generation() -> None:
    stage = StageStates({}, is_recorded=False, is_empty=False)
    status = find_status(number(PLAIN, USER), stage)
    assert (status.deployed, status.oldest) == (None, None)
    assert [each.state for each in status.instances] == [InstanceState.UNPROVEN]
    assert "its generation is unknown" in status.difference
