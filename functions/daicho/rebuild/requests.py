"""Requests for a rebuild: which entities need one, and the job for them."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from daicho.errors import StoreError, UnavailableError
from daicho.jobs.lease import JobStore, OvertakenError
from daicho.jobs.state_machine import StateMachine
from daicho.layout.backfill_state import (
    BackfillState,
    is_complete,
    list_possible_plans,
    render_instance,
)
from daicho.layout.expiry import find_retention_start
from daicho.layout.migrations import list_pending
from daicho.plan import Ledger
from daicho.rebuild.job import JOB_KEY, RebuildJob, build_job_id
from daicho.rebuild.kept_amounts import is_in_archive, list_incomplete_kept
from daicho.rebuild.purge_job import PurgeJob, list_unpurged, request_purge
from daicho.release.states import build_deployed_update, read_recorded_states, read_stage_states
from daicho.storage import keys
from daicho.storage.protocols import GetsItems, try_update
from daicho.storage.table import Table

CHANGE_ATTEMPTS = 20
"""How often a change of a job is tried, which saves its progress meanwhile."""
Job = TypeVar("Job", bound=RebuildJob)
_log = logging.getLogger(__name__)


def plan_targets(ledger: Ledger, states: Mapping[str, BackfillState]) -> dict[str, int]:
    """The entities that need a rebuild, with the generation that their items are to have."""
    return {
        entity: state.newest
        for entity, state in sorted(states.items())
        if entity in ledger.entities
        and state.newest == ledger.newest_generation(entity).number
        and _is_needed(ledger, state)
    }


def find_job(store: GetsItems) -> RebuildJob | None:
    """The rebuild of the table, if there was one."""
    image = store.get(JOB_KEY, consistent=True)
    return None if image is None else RebuildJob.from_image(image)


def reread_job(store: GetsItems, job: Job) -> Job | None:
    """Read the item of a job once more: it may be another job of its kind by now."""
    image = store.get(job.item_key, consistent=True)
    return None if image is None else job.from_image(image)


def request_rebuild(
    store: Table,
    targets: Mapping[str, int],
    now: dt.datetime,
    *,
    rate: float,
    total: int = 0,
    without: bool = False,
) -> RebuildJob:
    """Record a request; returns the job. An execution of the state machine then works on it.

    A job that is not over continues with the new targets in addition to its own.

    Raises:
        OvertakenError: the job was changed by another process; call again.
        StoreError: the table does not answer.
    """
    before = find_job(store)
    rev = before.rev if before is not None else 0
    job = RebuildJob(
        build_job_id(now, rev),
        dict(targets),
        keys.render_instant(now),
        rate=rate,
        total=total,
        without=without,
        rev=rev,
    )
    if before is not None and before.state != "succeeded":
        job.targets = {**before.targets, **targets}
    JobStore(store, lambda: now).save(job)
    return job


def change_job(
    store: Table,
    job: Job,
    now: dt.datetime,
    *,
    rate: float | None = None,
    without: bool = False,
) -> Job:
    """Change the options of a job, which keeps its position; returns the job.

    Raises:
        OvertakenError: the job is another one, or was changed by other processes all the time.
        StoreError: the table does not answer.
    """

    def change(current: Job) -> None:
        if rate is not None:
            current.rate, current.effective_rate = rate, 0.0
        current.without = current.without or without

    return _save_change(store, job, now, change)


def pause_job(store: Table, job: Job, now: dt.datetime) -> Job:
    """Let the execution that works on a job end after its present step; returns the job.

    Raises:
        OvertakenError: the job is another one, or was changed by other processes all the time.
        StoreError: the table does not answer.
    """

    def change(current: Job) -> None:
        if current.state != "succeeded":
            current.state = "paused"

    return _save_change(store, job, now, change)


def resume_job(
    store: Table,
    job: Job,
    now: dt.datetime,
    *,
    rate: float | None = None,
    without: bool = False,
) -> Job:
    """Continue a job at its position, by another execution: its ``id`` is new; returns the job.

    Raises:
        OvertakenError: the job is another one, or was changed by other processes all the time.
        StoreError: the table does not answer.
    """

    def change(current: Job) -> None:
        current.id, current.state = build_job_id(now, current.rev), "running"
        current.reason = ""
        current.rate, current.effective_rate = rate or current.rate, 0.0
        current.without = current.without or without

    return _save_change(store, job, now, change)


def _save_change(store: Table, job: Job, now: dt.datetime, change: Callable[[Job], None]) -> Job:
    """Change a job whose steps save their progress meanwhile."""
    for _ in range(CHANGE_ATTEMPTS):
        current = reread_job(store, job)
        if current is None or current.id != job.id:
            break
        change(current)
        try:
            JobStore(store, lambda: now).save(current)
        except OvertakenError:
            continue
        return current
    raise OvertakenError(f"job {job.id} was changed by another process")


def finish_deployment(
    store: Table,
    machine: StateMachine,
    ledger: Ledger,
    source: str,
    now: dt.datetime,
    rate: float,
) -> RebuildJob | None:
    """Record that the API has its new code, and start a rebuild of what the stage needs.

    Also starts a purge of disabled instances. Returns None if the stage needs no rebuild.

    Raises:
        UnavailableError: the table or the state machine does not answer, or the step of a rebuild
            that runs has just changed its job; call again.
    """
    try_update(store, build_deployed_update(source, now))
    states = read_stage_states(store).states
    targets = plan_targets(ledger, states)
    try:
        job = request_rebuild(store, targets, now, rate=rate) if targets else None
        if job is not None:
            start_execution(machine, job)
        start_purge(store, machine, ledger, states, now, rate)
    except OvertakenError as error:
        raise UnavailableError(str(error)) from error
    return job


def rebuild_older_items(
    store: Table, machine: StateMachine, ledger: Ledger, now: dt.datetime, rate: float
) -> int:
    """Start a rebuild of the entities of which an older item was found in the stream (rule 32).

    Returns how many entities need one. Only `daicho rebuild` starts it if ``rate`` is 0, or if the
    last rebuild has not succeeded: that one may be running, or somebody stopped it.

    Raises:
        StoreError: the states cannot be read.
    """
    states = read_recorded_states(store).states
    found = {entity: state for entity, state in states.items() if state.older_found}
    targets = plan_targets(ledger, found)
    if targets and rate:
        try:
            job = find_job(store)
            if job is None or job.state == "succeeded":
                job = request_rebuild(store, targets, now, rate=rate)
            if job.is_requested:  # perhaps by a call that was killed: once more does nothing
                start_execution(machine, job)
        except StoreError as error:
            _log.warning("left for the next call: %s", error)
    return len(targets)


def start_purge(
    store: Table,
    machine: StateMachine,
    ledger: Ledger,
    states: Mapping[str, BackfillState],
    now: dt.datetime,
    rate: float,
) -> PurgeJob | None:
    """Start a purge of the instances that are disabled and not purged; None if there are none.

    Raises:
        StoreError: the table or the state machine does not answer.
    """
    unpurged = list_unpurged(ledger, states)
    if not unpurged:
        return None
    job = request_purge(store, unpurged, now, rate=rate)
    machine.start(f"purge-{job.id}", job.machine_input)
    return job


def start_execution(machine: StateMachine, job: RebuildJob) -> None:
    """Let the state machine work on a job. Once more for one request does nothing.

    An execution ends once the table has a job of another ``id``.

    Raises:
        StoreError: the state machine does not answer.
    """
    given = job.machine_input
    machine.start(f"rebuild-{given['job']}-{job.rev}", given)


def _is_needed(ledger: Ledger, state: BackfillState) -> bool:
    """Whether an instance lacks items, rows lack fields, or items lack values.

    Not if it lacks expired items alone that are not in the archive, because nothing has these.
    """
    newest, touchable = (
        ledger.newest_generation(state.entity).plan,
        replace(state, lacking=frozenset()),
    )
    archived = {
        render_instance(instance)
        for instance in list_incomplete_kept(state, ledger)
        if is_in_archive(state.entity, instance, ledger)
    }
    if state.lacking & archived:
        return True
    if any(not is_complete(each, touchable, ledger) for each in newest.derived_instances):
        return True
    if is_outdated(ledger, state):
        return True
    copies = {
        (listing.name, listing.since, frozenset(listing.copies))
        for plan in list_possible_plans(state, ledger)
        for listing in plan.derived_listings
        if listing.copies
    }
    return len({copy[:2] for copy in copies}) < len(copies)


def is_outdated(ledger: Ledger, state: BackfillState) -> bool:
    """Whether items may need a field migration, or have the expiry of an earlier retention."""
    newest = ledger.newest_generation(state.entity)
    start = find_retention_start(ledger, state.entity, newest.number)
    return start > state.oldest or bool(list_pending(newest.plan, state.oldest))
