"""The steps of a release over a table in memory, with faults."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from daicho.errors import ThrottledError, UnavailableError
from daicho.layout.backfill_state import BackfillState, lower_oldest_update
from daicho.plan import Decisions, Ledger, append_generations
from daicho.release.older_writers import READERS_KNOW_S, OlderWriters
from daicho.release.refusals import ReleaseRefusedError
from daicho.release.release import Release
from daicho.release.states import read_stage_states
from daicho.runtime.retry import RetryBudget
from daicho.storage.protocols import apply_update
from daicho.storage.requests import ItemPage, Query
from daicho.stream.heartbeat_watcher import HeartbeatProgress, HeartbeatRun, HeartbeatWatcher
from tests.support.memory_stores import MemoryTable
from tests.support.sample_members import BASE_ITEM, CHANGED, PLAIN, WITH_LIST, disable, number

ONE, TWO = number(PLAIN), number(PLAIN, WITH_LIST)
THREE = number(PLAIN, WITH_LIST, CHANGED)
PASSED = HeartbeatProgress(1, 1)
WAITING = HeartbeatProgress(1, 1, {"Member": ("shard-1",)})


class StubWatcher(HeartbeatWatcher):
    """Says what it is told to, and keeps the runs that it was asked about."""

    def __init__(self, progress: HeartbeatProgress = PASSED) -> None:
        self.progress = progress
        self.watched: list[HeartbeatRun] = []
        self.forgotten: list[HeartbeatRun] = []

    def watch(self, run: HeartbeatRun, retry_budget: RetryBudget) -> HeartbeatProgress:
        self.watched.append(run)
        return self.progress

    def forget(self, run: HeartbeatRun) -> None:
        self.forgotten.append(run)


@dataclass
class House:
    """A table, and what was waited for."""

    table: MemoryTable = field(default_factory=MemoryTable)
    watcher: StubWatcher = field(default_factory=StubWatcher)
    pauses: list[float] = field(default_factory=list)
    spread: float = 0.0
    is_going_back: bool = False

    def release(self, ledger: Ledger) -> Release:
        return Release(self.table, self.watcher, ledger, self.spread, lambda: self.is_going_back)

    @property
    def budget(self) -> RetryBudget:
        return RetryBudget(lambda: 600.0, 20.0, self.pauses.append, lambda: 0.5)

    def open(self, ledger: Ledger, run: str = "run") -> BackfillState:
        return self.release(ledger).open_to_writers(run, "arn", self.budget)["Member"]

    def check(self, ledger: Ledger) -> None:
        self.release(ledger).check("check", "arn", self.budget)

    def read(self) -> BackfillState:
        return read_stage_states(self.table).states["Member"]


def test_a_check_changes_nothing_so_an_earlier_ledger_may_follow_it() -> None:
    house = House()
    house.open(ONE)
    assert house.release(TWO).check("check", "arn:2", house.budget) == "arn:2"
    assert house.read().newest == 1
    assert house.release(ONE).check("check", "arn:1", house.budget) == "arn:1"


def test_heartbeats_of_an_entity_that_begins_to_derive_come_before_its_writers() -> None:
    house = House(spread=90)
    house.open(number(replace(PLAIN, searches=())))
    house.table.batch_write([BASE_ITEM])
    house.open(number(replace(PLAIN, searches=()), PLAIN), run="second")
    assert house.watcher.watched == [HeartbeatRun("second", ("Member",))]
    assert house.watcher.forgotten == house.watcher.watched
    assert house.pauses == [90]
    assert house.read().in_filter
    house.open(number(replace(PLAIN, searches=()), PLAIN), run="third")
    assert len(house.watcher.watched) == 1


def test_older_code_does_not_write_beside_a_release_that_it_does_not_know() -> None:
    house = House()
    house.open(THREE)
    with pytest.raises(ReleaseRefusedError, match="generation 3 was released"):
        OlderWriters(
            house.table, replace(TWO, written={"Member": 1}), house.pauses.append
        ).announce()
    assert house.read().oldest == 3


def test_code_that_was_rolled_back_before_the_release_of_a_newer_ledger_may_start_again() -> None:
    house = House()
    two = number(WITH_LIST, CHANGED)
    older = replace(two, written={"Member": 1})
    house.open(older)
    reverted = Decisions(reverted=frozenset({"Member"}))
    house.open(append_generations([WITH_LIST], two, reverted))
    pauses: list[float] = []
    OlderWriters(house.table, older, pauses.append).announce()
    assert (house.read().oldest, pauses) == (1, [READERS_KNOW_S])


def test_a_first_release_that_was_not_completed_may_have_left_a_filter() -> None:
    """The event source mapping exists, so the second filter comes into use shard by shard."""
    plain = number(replace(PLAIN, searches=()))
    derived = number(replace(PLAIN, searches=()), PLAIN)
    house = House()
    house.check(plain)
    house.check(derived)
    house.open(derived)
    assert [run.entities for run in house.watcher.watched] == [("Member",)]


def test_what_every_filter_of_an_empty_table_passed_needs_no_heartbeat() -> None:
    house = House()
    for ledger in (ONE, TWO, TWO):
        house.check(ledger)
    house.open(TWO)
    assert house.watcher.watched == []


def test_a_filter_of_an_earlier_ledger_may_have_been_deployed_in_between() -> None:
    plain = number(replace(PLAIN, searches=()))
    derived = number(replace(PLAIN, searches=()), PLAIN)
    house = House()
    for ledger in (derived, plain, derived):
        house.check(ledger)
    assert read_stage_states(house.table).filtered == frozenset()
    house.open(derived)
    assert [run.entities for run in house.watcher.watched] == [("Member",)]


def test_what_ends_is_refused_also_in_a_table_without_backfill_items() -> None:
    house = House()
    house.table.batch_write([BASE_ITEM])
    with pytest.raises(ReleaseRefusedError, match=r"Member\.listed@1 ends"):
        house.check(disable(WITH_LIST, CHANGED))
    house.check(number(WITH_LIST, CHANGED))


def test_a_new_stage_has_nothing_to_purge() -> None:
    house = House()
    ended = disable(WITH_LIST, CHANGED)
    house.check(ended)
    assert house.open(ended).purged == house.read().purged == {"listed@1"}
    assert house.read().disabled == frozenset()


def test_instances_of_a_table_without_backfill_items_are_disabled_with_them() -> None:
    house = House()
    house.table.batch_write([BASE_ITEM])
    ended = disable(PLAIN, WITH_LIST, CHANGED)
    assert house.open(ended).disabled == house.read().disabled == {"listed@2"}


class ChangedMeanwhile(MemoryTable):
    """A table in which another writer lowers ``oldest`` behind the first reading of the states."""

    lowers = 1

    def query(self, query: Query) -> ItemPage:
        page = super().query(query)
        if page.items and self.lowers:
            self.lowers -= 1
            apply_update(self, lower_oldest_update("Member", 1, 3))
        return page


def test_a_state_that_changed_meanwhile_is_read_again() -> None:
    table = ChangedMeanwhile()
    table.batch_write([BackfillState("Member", 2, 2, True).to_item()])
    table.lowers = 1
    house = House(table)
    assert house.open(THREE).newest == 3
    assert house.read().oldest == 1


def test_a_release_writes_all_states_or_none() -> None:
    """A release that fails half-way must not forbid the ledger that was there before."""
    house = House()
    house.open(ONE)
    house.table.batch_write([BASE_ITEM])
    both = replace(TWO, entities={**TWO.entities, "Other": ONE.entities["Member"]})
    house.watcher.progress = WAITING
    with pytest.raises(UnavailableError):
        house.release(both).open_to_writers("run", "arn", house.budget)
    assert house.read().newest == 1
    assert set(read_stage_states(house.table).states) == {"Member"}


def test_a_rollback_whose_event_filter_would_drop_records_is_refused() -> None:
    house = House()
    nothing = number(replace(PLAIN, searches=()))
    house.release(nothing).open_to_writers("run", "arn:1", house.budget)
    derives = number(replace(PLAIN, searches=()), PLAIN)
    house.release(derives).open_to_writers("run", "arn:2", house.budget)
    house.is_going_back = True
    with pytest.raises(ReleaseRefusedError, match="The functions stay as they are"):
        house.release(nothing).check("check", "arn:1", house.budget)


class Throttled(MemoryTable):
    """A table whose first queries are throttled."""

    left = 2

    def query(self, query: Query) -> ItemPage:
        if self.left:
            self.left -= 1
            raise ThrottledError("query")
        return super().query(query)


def test_a_throttled_table_is_asked_again() -> None:
    house = House(Throttled())
    assert house.open(ONE).newest == 1
    assert len(house.pauses) == 2


def test_steps_have_names() -> None:
    house = House()
    house.release(ONE).run_step("check", "run", "arn", house.budget)
    assert not read_stage_states(house.table).is_recorded
    house.release(ONE).run_step("open", "run", "arn", house.budget)
    assert house.read().newest == 1
    with pytest.raises(ValueError, match="no step 'close'"):
        house.release(ONE).run_step("close", "run", "arn", house.budget)
