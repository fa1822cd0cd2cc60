"""Redrives of chosen records (rule 15): jobs in steps, as operators start them, and calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from daicho.jobs.lease import JobStore
from daicho.redrive import worker
from daicho.redrive.claim_ids import ClaimId
from daicho.redrive.job import RedriveJob, find_redrive, group_by_shard
from daicho.storage import keys
from daicho.testing.schedules.event_owner import EventOwner, ScheduleParts
from tests.simulator.oracle.redrive_order import RedriveOrderCheck, list_set_aside

MAX_STEPS_OF_JOB = 200
"""Steps of a job without faults; one that takes more never ends."""


class ChosenRedrives(EventOwner):
    """The event, on one deployment. A profile names it by its method.

    ``redrive_versions``: the versions of the code of redrives.
    """

    def __init__(self, parts: ScheduleParts, redrive_versions: Sequence[int]) -> None:
        super().__init__(parts)
        self._redrive_versions = redrive_versions
        self._check = RedriveOrderCheck(parts.deployment, parts.simulated_lambda.unexpected)
        self._limits = {
            "RECORDS_PER_CALL": parts.deployment.choices.pick((1, 2, 100), "records of a call"),
            "CALLS_PER_STEP": parts.deployment.choices.pick((1, 2, 10), "calls of a step"),
        }
        self._jobs: list[str] = []

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Check the order of all redrives, and let the steps of jobs be short."""
        with ExitStack() as stack:
            stack.enter_context(self._check.watch())
            for name, limit in self._limits.items():
                stack.enter_context(mock.patch.object(worker, name, limit))
            yield

    def redrive_chosen(self) -> None:
        """An operator redrives chosen records, or the next step of such a redrive begins."""
        if self._lambda.is_crowded:
            return
        if self._jobs and self._choices.draw_bool(0.6):
            self._start_step(self._choices.pick(list(reversed(self._jobs))))
            return
        waiting = sorted(list_set_aside(self._deployment))
        if not waiting:
            return
        count = 1 + self._choices.draw_number(min(3, len(waiting)))
        # The newest is chosen most often: older ones have to come along.
        chosen = {self._choices.pick(list(reversed(waiting))) for _ in range(count)}
        self._fault_counts["chosen redrive"] += 1
        if self._choices.draw_bool(0.7):
            self._start_step(self._create_job(chosen))
            return
        self._note(f"redrive of {sorted(chosen)} begins")
        limit = self._choices.pick((100, 1, 2))
        event = {"action": "apply", "claims": sorted(chosen), "limit": limit}
        self._begin(event)

    def finish_redrives(self) -> None:
        """Without faults, every job comes to its end, and has counted nothing twice."""
        for id in self._jobs:
            for _ in range(MAX_STEPS_OF_JOB):
                answer = self._lambda.run_to_end("redrive", _build_step_event(id))
                if answer is None or answer["done"]:
                    break
            job = self._find(id)
            if job.state == "running":
                self._lambda.unexpected.append(f"redrive {id} never ends: {job.to_json()}")
        applied, done = sum(self._find(id).applied for id in self._jobs), len(self._check.done)
        if applied > done:
            self._lambda.unexpected.append(f"redrives count {applied} of {done} applied")

    def _create_job(self, chosen: set[ClaimId]) -> str:
        """Store a job as the operators' API does; it closes the choice itself."""
        id, now = f"{len(self._jobs):026}", self._deployment.clock.now()
        at = keys.render_instant(now)
        grouped = group_by_shard(chosen)
        job = RedriveJob(id, len(chosen), "operator", at, grouped, len(chosen))
        table = self._deployment.open_table()
        JobStore(table, lambda: now).save(job)
        self._jobs.append(id)
        self._note(f"redrive {id} of {sorted(chosen)}")
        return id

    def _start_step(self, id: str) -> None:
        self._note(f"a step of redrive {id} begins")
        self._begin(_build_step_event(id))

    def _begin(self, event: dict[str, Any]) -> None:
        process = self._lambda.start_detached("redrive", event)
        process.code_version = self._choices.pick(self._redrive_versions)
        process.seconds = self._choices.pick((300, 60))

    def _find(self, id: str) -> RedriveJob:
        job = find_redrive(self._deployment.open_table(), id)
        if job is None:
            raise AssertionError(f"no redrive {id}")
        return job


def _build_step_event(id: str) -> dict[str, str]:
    return {"tenant": "", "job": f"redrive-{id}"}
