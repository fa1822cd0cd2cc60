"""Which entities need a rebuild, and the job that is requested for them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from daicho.errors import UnavailableError
from daicho.jobs.lease import ABANDONED_AFTER, JobStore, OvertakenError
from daicho.jobs.state_machine import StateMachine
from daicho.layout.backfill_state import BackfillState
from daicho.rebuild.purge_job import (
    MAX_INSTANCES,
    choose_instances,
    find_purge,
    list_unpurged,
)
from daicho.rebuild.requests import (
    change_job,
    find_job,
    finish_deployment,
    pause_job,
    plan_targets,
    rebuild_older_items,
    request_rebuild,
    resume_job,
)
from daicho.release.states import build_record_update, read_deployed
from daicho.storage.protocols import apply_update
from tests.support.memory_stores import MemoryTable
from tests.support.sample_members import CHANGED, PLAIN, WITH_LIST, disable, number

NOW = dt.datetime(2026, 11, 23, 10, tzinfo=dt.UTC)
TWO = number(PLAIN, WITH_LIST)


class Machine(StateMachine):
    """Keeps what was started."""

    def __init__(self) -> None:
        self.started: list[tuple[str, Mapping[str, Any]]] = []

    def start(self, name: str, given: Mapping[str, Any]) -> None:
        self.started.append((name, given))


def state(oldest: int, newest: int = 2, **values: Any) -> dict[str, BackfillState]:
    return {"Member": BackfillState("Member", oldest, newest, **values)}


def test_an_entity_with_an_incomplete_instance_needs_a_rebuild() -> None:
    assert plan_targets(TWO, state(1)) == {"Member": 2}
    assert plan_targets(TWO, state(2)) == {}
    assert plan_targets(TWO, {}) == {}


def test_a_touch_does_not_help_an_instance_that_lacks_expired_items() -> None:
    assert plan_targets(TWO, state(2, lacking=frozenset({"listed@2"}))) == {}


def test_a_generation_that_derives_the_same_needs_none() -> None:
    expires = replace(PLAIN, fields={**PLAIN.fields, "note": "str"})
    assert plan_targets(number(PLAIN, expires), state(1)) == {}


def test_a_stage_with_another_generation_is_left_alone() -> None:
    assert plan_targets(number(PLAIN, WITH_LIST, CHANGED), state(1, 2)) == {}


def test_rows_that_may_lack_a_field_need_a_rebuild() -> None:
    (listed,) = WITH_LIST.listings
    one = replace(PLAIN, listings=(replace(listed, copies=("id", "name")),))
    two = replace(PLAIN, listings=(replace(listed, copies=("id", "name", "team")),))
    ledger = number(one, two)
    assert plan_targets(ledger, state(1)) == {"Member": 2}
    assert plan_targets(ledger, state(2)) == {}


def test_a_request_is_one_job_of_the_table() -> None:
    table = MemoryTable()
    first = request_rebuild(table, {"Member": 2}, NOW, rate=100)
    assert find_job(table) == first
    second = request_rebuild(table, {"Other": 3}, NOW, rate=200, without=True)
    assert second.targets == {"Member": 2, "Other": 3}
    assert (second.rate, second.without, second.id != first.id) == (200, True, True)
    second.state = "succeeded"
    JobStore(table, lambda: NOW).save(second)
    assert request_rebuild(table, {"Other": 4}, NOW, rate=1).targets == {"Other": 4}
    with pytest.raises(OvertakenError):
        JobStore(table, lambda: NOW).save(first)


def find_older(entity: str = "Member", oldest: int = 1) -> MemoryTable:
    """A table in which an older item of an entity was found."""
    table = MemoryTable()
    table.batch_write([BackfillState("Member", 2, 2).to_item()])
    found = BackfillState(entity, oldest, 2).to_item()
    table.batch_write([{**found, "older_found": {"S": "2026-11-23T09:00:00.000000Z"}}])
    return table


def test_an_older_item_that_was_found_starts_a_rebuild_once() -> None:
    table, machine = find_older(), Machine()
    assert rebuild_older_items(table, machine, TWO, NOW, 70) == 1
    job = find_job(table)
    assert job is not None
    assert (job.targets, job.rate, job.state) == ({"Member": 2}, 70, "running")
    execution = (f"rebuild-{job.id}-{job.rev}", {"tenant": "", "job": job.id})
    assert machine.started == [execution]
    # Its execution may not have been started. The state machine starts none of the same name.
    assert rebuild_older_items(table, machine, TWO, NOW, 70) == 1
    assert machine.started == [execution] * 2
    JobStore(table, lambda: NOW).save(job)  # a step
    assert rebuild_older_items(table, machine, TWO, NOW, 70) == 1
    assert machine.started == [execution] * 2
    job.state = "succeeded"
    JobStore(table, lambda: NOW).save(job)
    assert rebuild_older_items(table, machine, TWO, NOW, 70) == 1
    assert len(machine.started) == 3


@pytest.mark.parametrize("stopped", ["paused", "failed", "blocked"])
def test_a_rebuild_that_was_stopped_is_left_alone_although_an_older_item_was_found(
    stopped: Any,
) -> None:
    table, machine = find_older(), Machine()
    job = request_rebuild(table, {"Other": 2}, NOW, rate=100)
    job.state = stopped
    JobStore(table, lambda: NOW).save(job)
    assert rebuild_older_items(table, machine, TWO, NOW, 70) == 1
    assert machine.started == []
    assert find_job(table) == job


def test_nothing_is_rebuilt_without_a_rate_a_finding_or_a_need() -> None:
    machine = Machine()
    assert rebuild_older_items(find_older(), machine, TWO, NOW, 0) == 1
    for table in (find_older(oldest=2), find_older("Unknown"), MemoryTable()):
        assert rebuild_older_items(table, machine, TWO, NOW, 70) == 0
        assert find_job(table) is None
    plain = MemoryTable()
    plain.batch_write([BackfillState("Member", 1, 2).to_item()])  # a deployment rebuilds it
    assert rebuild_older_items(plain, machine, TWO, NOW, 70) == 0
    assert machine.started == []


def test_a_machine_that_does_not_answer_is_asked_again_at_the_next_call() -> None:
    class Silent(Machine):
        def start(self, name: str, given: Mapping[str, Any]) -> None:
            raise UnavailableError("no answer")

    table, machine = find_older(), Machine()
    assert rebuild_older_items(table, Silent(), TWO, NOW, 70) == 1
    assert rebuild_older_items(table, machine, TWO, NOW, 70) == 1
    assert len(machine.started) == 1


def test_a_change_keeps_the_position_of_a_job_that_is_saved_meanwhile() -> None:
    table = MemoryTable()
    request_rebuild(table, {"Member": 2}, NOW, rate=100)
    job = find_job(table)
    assert job is not None
    jobs, behind = JobStore(table, lambda: NOW), replace(job)
    job.seen, job.segments = 500, {"total": 2, "starts": {"1": None}}
    jobs.save(job)
    changed = change_job(table, behind, NOW, rate=50, without=True)
    assert find_job(table) == changed
    assert (changed.id, changed.rate, changed.without, changed.seen) == (job.id, 50, True, 500)
    with pytest.raises(OvertakenError):
        jobs.save(job)


def test_a_job_is_paused_and_resumed_by_another_execution() -> None:
    table = MemoryTable()
    first = request_rebuild(table, {"Member": 2}, NOW, rate=100)
    paused = pause_job(table, first, NOW)
    assert (paused.state, paused.id) == ("paused", first.id)
    resumed = resume_job(table, paused, NOW, rate=70)
    assert (resumed.state, resumed.rate, resumed.id != first.id) == ("running", 70, True)
    assert resumed.passes == first.passes
    with pytest.raises(OvertakenError):
        pause_job(table, first, NOW)


def test_a_deployment_starts_what_the_stage_needs() -> None:
    table, machine = MemoryTable(), Machine()
    apply_update(table, build_record_update("arn", frozenset({"Member"})))
    table.batch_write([state(2)["Member"].to_item()])
    assert read_deployed(table) is None
    assert finish_deployment(table, machine, TWO, "arn", NOW, 500) is None
    assert machine.started == []
    assert read_deployed(table) == NOW
    table.batch_write([state(1)["Member"].to_item()])
    assert finish_deployment(table, machine, TWO, "arn", NOW, 0) is None
    job = finish_deployment(table, machine, TWO, "arn", NOW, 500)
    assert job is not None
    assert machine.started == [(f"rebuild-{job.id}-1", {"tenant": "", "job": job.id})]


def test_a_deployment_starts_a_purge_of_what_is_not_purged() -> None:
    table, machine, ledger = MemoryTable(), Machine(), disable(WITH_LIST, CHANGED)
    table.batch_write([state(3, 3)["Member"].to_item()])
    apply_update(table, build_record_update("arn", frozenset()))
    assert finish_deployment(table, machine, ledger, "arn", NOW, 0) is None
    assert machine.started == []
    assert finish_deployment(table, machine, ledger, "arn", NOW, 100) is None
    purge = find_purge(table)
    assert purge is not None
    assert (purge.instances, purge.rate) == ({"Member": ["listed@1"]}, 100)
    assert machine.started == [(f"purge-{purge.id}", purge.machine_input)]
    # Another deployment does not begin it again, unless nobody works on it any more.
    finish_deployment(table, machine, ledger, "arn", NOW, 100)
    assert machine.started[1:] == machine.started[:1]
    finish_deployment(table, machine, ledger, "arn", NOW + ABANDONED_AFTER, 100)
    assert len(dict(machine.started)) == 2
    purged = replace(state(3, 3)["Member"], purged=frozenset({"listed@1"}))
    table.batch_write([purged.to_item()])
    finish_deployment(table, machine, ledger, "arn", NOW + ABANDONED_AFTER * 3, 100)
    assert len(machine.started) == 3


def test_only_a_released_ledger_is_purged_and_a_limited_number_at_once() -> None:
    ledger = disable(WITH_LIST, CHANGED)
    assert list_unpurged(ledger, state(2, 2)) == {}
    assert list_unpurged(ledger, state(3, 4)) == {}
    assert list_unpurged(ledger, state(3, 3)) == {"Member": ["listed@1"]}
    many = {"A": [f"a@{n}" for n in range(30)], "B": ["b@1"]}
    assert choose_instances(many) == {"A": many["A"][:MAX_INSTANCES]}
    assert choose_instances({"A": ["a@1"], "B": ["b@1"]}) == {"A": ["a@1"], "B": ["b@1"]}


def test_a_deployment_is_repeated_if_a_rebuild_has_just_saved_its_job() -> None:
    """Otherwise a deployment while a rebuild runs would fail, and CloudFormation would undo it."""
    table, machine = MemoryTable(), Machine()
    apply_update(table, build_record_update("arn", frozenset()))
    table.put(BackfillState("Member", 1, 2).to_item())
    request_rebuild(table, {"Member": 2}, NOW, rate=100)

    class Overtaken(MemoryTable):
        """A step of the rebuild saves the job before each request does."""

        def put(self, item: Any, **named: Any) -> Any:
            job = find_job(table)
            assert job is not None
            JobStore(table, lambda: NOW).save(job)
            return table.put(item, **named)

    overtaken = Overtaken()
    overtaken.get = table.get  # type: ignore[method-assign]
    overtaken.query_pages = table.query_pages  # type: ignore[method-assign]
    overtaken.update = table.update  # type: ignore[method-assign]
    with pytest.raises(UnavailableError, match="changed by another process"):
        finish_deployment(overtaken, machine, TWO, "arn", NOW, 100)
    assert machine.started == []
    assert finish_deployment(table, machine, TWO, "arn", NOW, 100) is not None


def test_a_late_end_of_a_deployment_is_not_the_end_of_the_next_one() -> None:
    table = MemoryTable()
    apply_update(table, build_record_update("next", frozenset()))
    finish_deployment(table, Machine(), TWO, "arn", NOW, 100)
    assert read_deployed(table) is None
    finish_deployment(table, Machine(), TWO, "next", NOW, 100)
    assert read_deployed(table) == NOW
