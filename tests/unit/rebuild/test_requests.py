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
from daicho.plan import ExpiryPlan
from daicho.rebuild.purge_job import find_purge
from daicho.rebuild.requests import (
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


def find_older(entity: str = "Member", oldest: int = 1) -> MemoryTable:
    """A table in which an older item of an entity was found."""
    table = MemoryTable()
    table.batch_write([BackfillState("Member", 2, 2).to_item()])
    found = BackfillState(entity, oldest, 2).to_item()
    table.batch_write([{**found, "older_found": {"S": "2026-11-23T09:00:00.000000Z"}}])
    return table


WEEK, MONTH = (ExpiryPlan(days * 86_400, archive=False) for days in (7, 30))


@pytest.mark.parametrize(
    ("before", "after"), [(WEEK, MONTH), (MONTH, WEEK), (WEEK, None), (None, WEEK)]
)
def test_another_retention_needs_a_rebuild(
    before: ExpiryPlan | None, after: ExpiryPlan | None
) -> None:
    ledger = number(replace(PLAIN, expires=before), replace(PLAIN, expires=after))
    assert plan_targets(ledger, state(1)) == {"Member": 2}
    assert plan_targets(ledger, state(2)) == {}


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
    job = finish_deployment(table, machine, TWO, "arn", NOW, 500)
    assert job is not None
    assert machine.started == [(f"rebuild-{job.id}-1", {"tenant": "", "job": job.id})]


def test_a_deployment_starts_a_purge_of_what_is_not_purged() -> None:
    table, machine, ledger = MemoryTable(), Machine(), disable(WITH_LIST, CHANGED)
    table.batch_write([state(3, 3)["Member"].to_item()])
    apply_update(table, build_record_update("arn", frozenset()))
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
