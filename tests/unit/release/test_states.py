"""The backfill items that a release makes of those that a table has."""

from __future__ import annotations

from dataclasses import replace

from daicho.layout.backfill_state import RECORDED_KEY, BackfillState, build_backfill_key
from daicho.plan import Ledger
from daicho.release.states import StageStates, read_stage_states
from daicho.storage.attributes import to_image
from daicho.storage.requests import ItemPage, Scan
from tests.support.memory_stores import MemoryTable
from tests.support.sample_members import BASE_ITEM, PLAIN, WITH_LIST, number

LEDGER = number(PLAIN, WITH_LIST)
DIGESTS = {each.number: each.plan.digest for each in LEDGER.list_generations("Member")}


def build_stage(
    *states: BackfillState, is_recorded: bool = True, is_empty: bool = False
) -> StageStates:
    return StageStates({state.entity: state for state in states}, is_recorded, is_empty)


def release(stage: StageStates, ledger: Ledger = LEDGER) -> BackfillState:
    return stage.plan_release(ledger)["Member"]


def test_a_fresh_table_has_items_of_the_current_generation_only() -> None:
    stage = build_stage(is_recorded=False, is_empty=True)
    assert release(stage) == BackfillState("Member", 2, 2, True, DIGESTS)
    assert stage.list_unfiltered(LEDGER) == ()


def test_a_generation_of_the_ledger_is_recorded_before_anything_writes_it() -> None:
    """Newer code may be deployed by Lambda alone, beside this ledger."""
    ahead = replace(LEDGER, written={"Member": 1})
    before = BackfillState("Member", 1, 1, True, {1: DIGESTS[1]})
    assert release(build_stage(before), ahead) == replace(before, newest=2, plans=DIGESTS)


def test_states_are_read_back_as_written() -> None:
    table = MemoryTable()
    assert read_stage_states(table) == StageStates({}, is_recorded=False, is_empty=True)
    written = BackfillState("Member", 1, 2, True, DIGESTS)
    table.batch_write([written.to_item()])
    assert build_backfill_key("Member").sk == "Member"
    # A release that did not finish: the table is still empty but for backfill items.
    stage = read_stage_states(table)
    assert stage == StageStates({"Member": written}, is_recorded=False, is_empty=True)
    table.batch_write([BASE_ITEM])
    assert not read_stage_states(table).is_empty


def test_items_of_the_stack_are_no_items() -> None:
    """Its functions may run before the first release is complete."""
    table = MemoryTable()
    table.batch_write([to_image({"PK": "#shard#s", "SK": "claims"})])
    assert read_stage_states(table).is_empty
    table.batch_write([to_image({"PK": "t#~Member#1#-", "SK": "listed#1"})])
    assert not read_stage_states(table).is_empty


class ReleasedMeanwhile(MemoryTable):
    """A table in which another release is completed, and an item written, before a scan."""

    def scan(self, scan: Scan) -> ItemPage:
        self.items[RECORDED_KEY] = {"PK": {"S": RECORDED_KEY.pk}, "SK": {"S": RECORDED_KEY.sk}}
        self.batch_write([BackfillState("Member", 2, 2).to_item(), BASE_ITEM])
        return super().scan(scan)


def test_a_release_that_is_completed_meanwhile_is_noticed() -> None:
    stage = read_stage_states(ReleasedMeanwhile())
    assert stage == StageStates({"Member": BackfillState("Member", 2, 2)}, True, False)


def test_items_behind_many_backfill_items_are_found() -> None:
    table = MemoryTable()
    table.batch_write(BackfillState(f"E{n}", 1, 1).to_item() for n in range(250))
    assert read_stage_states(table).is_empty
    table.batch_write([BASE_ITEM])
    stage = read_stage_states(table)
    assert not stage.is_empty
    assert len(stage.states) == 250
