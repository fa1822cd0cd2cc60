"""Verification: its phases in their order, and the worker that runs its steps."""

from __future__ import annotations

from typing import ClassVar

from daicho.jobs.lease import OvertakenError
from daicho.jobs.state_machine import VERIFY_PREFIX
from daicho.jobs.step import JobStep
from daicho.runtime.retry import RetryBudget
from daicho.verify.item_checks import ItemChecks
from daicho.verify.job import VerifyJob, find_verification
from daicho.verify.owned_checks import OwnedChecks
from daicho.verify.stack_checks import ArchiveChecks, ClaimChecks
from daicho.verify.steps import Phase, ScanPhase, VerifyDependencies, VerifyStep
from daicho.verify.tally_phases import JournalPhase, TallyPhase

PHASES: tuple[type[Phase], ...] = (
    JournalPhase,
    ScanPhase,
    ItemChecks,
    OwnedChecks,
    ClaimChecks,
    ArchiveChecks,
    TallyPhase,
)
"""The phases in their order; see `daicho.verify.steps`."""


class VerifyWorker(VerifyDependencies):
    """Works on the verification of one table."""

    phases: ClassVar[tuple[type[Phase], ...]] = PHASES

    def run_step(self, name: str, retry_budget: RetryBudget) -> JobStep:
        """Do as much work on a job as there is time for. Nothing if another job has replaced it.

        Raises:
            StoreError: a store fails; the next step continues.
        """
        job = self._find_job(name)
        if job is None or job.state == "succeeded":
            return JobStep(done=True)
        if (wait := job.compute_wait(self.now())) > 0:
            return JobStep(done=False, wait=wait)
        try:
            return VerifyStep(self, job, retry_budget, self.phases).run()
        except OvertakenError:
            return JobStep(done=False)

    def fail_job(self, name: str, reason: str) -> None:
        """Record that nobody works on a job any more."""
        job = self._find_job(name)
        if job is not None and job.state in ("running", "blocked"):
            job.state, job.reason = "failed", reason[:1000]
            self.jobs.save(job)

    def _find_job(self, name: str) -> VerifyJob | None:
        """The job of this name; None if the table has another one by now."""
        job = find_verification(self.store)
        return job if job is not None and job.id == name.removeprefix(VERIFY_PREFIX) else None
