"""Redrives that operators start: preview, confirmation, steps, faults."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from daicho.errors import Conflict, Invalid, NotFound, UnavailableError
from daicho.jobs.state_machine import REDRIVE_PREFIX, StateMachine
from daicho.jobs.step import JobStep
from daicho.redrive import redrives, worker
from daicho.redrive.job import RedriveJob
from daicho.redrive.redrive import Redrive
from daicho.redrive.redrives import Redrives
from daicho.redrive.set_aside import SetAsideRecords
from daicho.redrive.worker import OVERTAKEN_WAIT_S, RedriveWorker
from daicho.storage.attributes import get_key
from daicho.stream import claims
from tests.support.mortal_stores import Killed, Turns, kill
from tests.support.redrive_setup import (
    SHARD,
    House,
    house,
    render_number,
    retry_budget,
    write_a_day,
)

__all__ = ["house"]


@dataclass
class Machine(StateMachine):
    """Keeps what was started. ``failure``: raised at the start."""

    failure: Exception | None = None
    started: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)

    def start(self, name: str, given: Mapping[str, Any]) -> None:
        if self.failure is not None:
            raise self.failure
        self.started.append((name, given))


def open_jobs(house: House, machine: Machine | None = None) -> Redrives:
    table, bucket = house.stores(Turns())
    records = SetAsideRecords(table, bucket, "project", "archive")
    return Redrives(table, records, house.ledger, machine or Machine(), lambda: house.now)


def open_steps(house: House, turns: Turns | None = None) -> RedriveWorker:
    table, bucket = house.stores(turns or Turns())
    redrive = Redrive(
        *(table, bucket, house.ledger),
        projector="project",
        dirty_shards=1,
        now=lambda: house.now,
    )
    return RedriveWorker(redrive, table, lambda: house.now)


def find(house: House, id: str) -> RedriveJob:
    job = open_jobs(house).get(id)
    assert job is not None
    return job


def start(house: House, *places: int) -> RedriveJob:
    chosen = [(SHARD, render_number(place)) for place in places] or None
    count = open_jobs(house).preview(chosen, retry_budget()).count
    return open_jobs(house).start(chosen, count=count, user="ops", retry_budget=retry_budget())


def run(house: House, id: str) -> int:
    """All steps of a job; gives their number."""
    steps = 1
    while not open_steps(house).run_step(id, retry_budget()).done:
        steps += 1
        assert steps < 50
    return steps


def get_counts(job: RedriveJob) -> tuple[int, int, int]:
    return (job.applied, job.already_done, job.still_failing)


@pytest.fixture
def claimed(house: House) -> House:
    """Claims on records 2, 3 and 6, of which 2 and 6 are of one item; the code is fixed."""
    write_a_day(house)
    house.project()
    house.broken.clear()
    return house


def test_a_preview_names_the_older_records(claimed: House) -> None:
    preview = open_jobs(claimed).preview([(SHARD, render_number(6))], retry_budget())
    assert (preview.count, preview.added) == (2, ((SHARD, render_number(2)),))
    assert open_jobs(claimed).preview(None, retry_budget()).count == 3


def test_a_job_applies_what_was_confirmed(claimed: House) -> None:
    machine = Machine()
    jobs_of_house = open_jobs(claimed, machine)
    chosen = [(SHARD, render_number(6))]
    job = jobs_of_house.start(chosen, count=2, user="ops", retry_budget=retry_budget())
    name = f"{REDRIVE_PREFIX}{job.id}"
    assert machine.started == [(name, {"tenant": "", "job": name})]
    assert (find(claimed, job.id).state, job.claims, job.asked_by) == ("running", 2, "ops")
    assert run(claimed, job.id) == 1
    done = find(claimed, job.id)
    assert (done.state, done.finished, get_counts(done)) == ("succeeded", True, (2, 0, 0))
    assert run(claimed, start(claimed).id) == 1
    assert claimed.differences() == []


def test_the_count_must_be_that_of_the_preview(claimed: House) -> None:
    with pytest.raises(Conflict, match="2 records now, not on 1") as refused:
        open_jobs(claimed).start(
            [(SHARD, render_number(6))], count=1, user="ops", retry_budget=retry_budget()
        )
    assert (refused.value.status, refused.value.field) == (409, "count")
    assert open_jobs(claimed).list() == ((), None)


def test_wrong_choices_are_refused(claimed: House, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotFound):
        start(claimed, 1)
    with pytest.raises(Invalid, match="no record is chosen"):
        open_jobs(claimed).preview([], retry_budget())
    monkeypatch.setattr(redrives, "MAX_CHOSEN", 1)
    with pytest.raises(Invalid, match="with the older ones"):
        start(claimed, 6)
    with pytest.raises(Invalid, match="records are chosen;"):
        start(claimed, 6, 3)


def test_a_machine_that_does_not_start_fails_the_job(claimed: House) -> None:
    machine = Machine(UnavailableError("no answer"))
    with pytest.raises(UnavailableError):
        open_jobs(claimed, machine).start(None, count=3, user="", retry_budget=retry_budget())
    (job,), _ = open_jobs(claimed).list()
    assert (job.state, job.asked_by) == ("failed", "")
    assert open_steps(claimed).run_step(job.id, retry_budget()) == JobStep(done=True)
    assert claimed.states == ["open"] * 3


def test_a_job_that_nobody_works_on_is_shown_as_failed(claimed: House) -> None:
    job = start(claimed)
    claimed.now += dt.timedelta(minutes=61)
    assert find(claimed, job.id).state == "failed"
    assert open_jobs(claimed).list()[0][0].state == "failed"
    run(claimed, job.id)
    assert find(claimed, job.id).state == "succeeded"


def test_a_record_that_still_fails_is_shown_with_its_error(claimed: House) -> None:
    claimed.broken = {3}
    claimed.objects.delete_object(Key=claims.render_payload_name(SHARD, render_number(2)))
    job = start(claimed)
    run(claimed, job.id)
    done = find(claimed, job.id)
    assert (done.state, get_counts(done)) == ("succeeded", (1, 0, 2))
    assert [each["record"] for each in done.failures] == [
        f"{SHARD}/{render_number(place)}" for place in (2, 3)
    ]
    assert "MissingPayloadError" in done.failures[0]["message"]
    assert "too much for this code" in done.failures[1]["message"]
    assert done.to_json()["error"] is None


def test_a_record_that_is_done_meanwhile_counts_as_done(claimed: House) -> None:
    job = start(claimed, 2, 3)
    claimed.redrive(claims=[[SHARD, render_number(2)]])
    run(claimed, job.id)
    assert get_counts(find(claimed, job.id)) == (1, 1, 0)


@pytest.mark.parametrize("after", [False, True])
def test_a_step_that_is_killed_anywhere_is_repeated(
    house: House, after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No record is counted twice, neither in the tallies nor in the job."""
    monkeypatch.setattr(worker, "RECORDS_PER_CALL", 1)

    write_a_day(house)
    house.project()
    house.broken.clear()
    job = start(house, 6, 3)
    before, objects = house.items, dict(house.objects.stored)
    counted = Turns()
    open_steps(house, counted).run_step(job.id, retry_budget())
    assert counted.count > 20
    for at in range(1, counted.count + 1):
        for key in house.items:
            house.dynamo.commit(key, None)
        for image in before.values():
            house.dynamo.commit(get_key(image), image)
        house.objects.stored.clear()
        house.objects.stored.update(objects)
        with pytest.raises(Killed):
            open_steps(house, Turns(at, kill, after)).run_step(job.id, retry_budget())
        run(house, job.id)
        done = find(house, job.id)
        assert house.differences() == []
        assert done.state == "succeeded"
        assert done.applied + done.already_done == 3
        assert done.still_failing == 0


def test_a_step_that_always_ends_its_process_fails_the_job(claimed: House) -> None:
    """A record that kills the process: the job says so, and does not try for hours."""

    job = start(claimed)
    for _ in range(worker.MAX_STEPS_WITHOUT_PROGRESS):
        with pytest.raises(Killed):
            open_steps(claimed, Turns(4, kill)).run_step(job.id, retry_budget())
    assert open_steps(claimed).run_step(job.id, retry_budget()).done
    failed = find(claimed, job.id)
    assert failed.state == "failed"
    assert "5 steps got no further than the start" in failed.error


def test_two_steps_at_once_count_nothing_twice(claimed: House) -> None:
    job = start(claimed)
    other: list[JobStep] = []

    def run_other() -> None:
        other.append(open_steps(claimed).run_step(job.id, retry_budget()))

    first = open_steps(claimed, Turns(6, run_other)).run_step(job.id, retry_budget())
    assert other == [JobStep(done=True)]
    assert first == JobStep(done=False, wait=OVERTAKEN_WAIT_S)
    assert get_counts(find(claimed, job.id)) == (3, 0, 0)
    assert claimed.differences() == []


def test_a_lost_answer_to_a_save_is_no_other_step(claimed: House) -> None:
    job = start(claimed)

    def lose_answer() -> None:
        raise UnavailableError("the answer is lost")

    for at in (2, 3):
        turns = Turns(at, lose_answer, after=True)
        assert open_steps(claimed, turns).run_step(job.id, retry_budget()).done
    assert find(claimed, job.id).applied == 3


def test_a_job_that_was_given_up_is_failed(claimed: House) -> None:
    job = start(claimed)
    open_steps(claimed).fail_job(job.id, "x" * 5_000, retry_budget())
    failed = find(claimed, job.id)
    assert (failed.state, len(failed.error)) == ("failed", 1_000)
    open_steps(claimed).fail_job("0" * 26, "no such job", retry_budget())
    assert open_steps(claimed).run_step("0" * 26, retry_budget()).done
