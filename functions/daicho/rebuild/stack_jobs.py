"""The jobs of the stack itself, not of a tenant: which one a name is of."""

from __future__ import annotations

from daicho.jobs.lease import OvertakenError
from daicho.jobs.state_machine import PURGE_PREFIX, REPAIR_PREFIX
from daicho.jobs.step import JobStep
from daicho.rebuild.job import RebuildJob
from daicho.rebuild.purge import PurgeStep
from daicho.rebuild.purge_job import PurgeJob, find_purge
from daicho.rebuild.rebuild import RebuildStep
from daicho.rebuild.repair import RepairStep
from daicho.rebuild.repair_job import RepairJob, find_repair
from daicho.rebuild.requests import find_job
from daicho.rebuild.table_step import TableDependencies
from daicho.runtime.retry import RetryBudget


class StackJobs(TableDependencies):
    """The rebuild, and the purge. A job is named as in the input of the state machine."""

    def run_step(self, name: str, retry_budget: RetryBudget) -> JobStep:
        """Do as much work on a job as there is time for. Nothing if another job has replaced it.

        Raises:
            StoreError: a store fails; the next step continues.
        """
        job = self._find_job(name)
        if job is None or job.state in ("succeeded", "paused"):
            return JobStep(done=True)
        if (wait := job.compute_wait(self.now())) > 0:
            return JobStep(done=False, wait=wait)
        if isinstance(job, PurgeJob):
            return PurgeStep(self, job, retry_budget).run()
        try:
            if isinstance(job, RepairJob):
                return RepairStep(self, job, retry_budget).run()
            return RebuildStep(self, job, retry_budget).run()
        except OvertakenError:
            # The command changed it, for example its rate: the next step reads it.
            return JobStep(done=False)

    def fail_job(self, name: str, reason: str) -> None:
        """Record that nobody works on a job any more. A new request continues it."""
        job = self._find_job(name)
        if job is not None and job.state in ("running", "blocked"):
            job.state, job.reason = "failed", reason[:1000]
            self.jobs.save(job)

    def _find_job(self, name: str) -> RebuildJob | PurgeJob | None:
        """The job of this name; None if the table has another one by now."""
        job: RebuildJob | PurgeJob | None
        if name.startswith(PURGE_PREFIX):
            job = find_purge(self.store)
        elif name.startswith(REPAIR_PREFIX):
            job = find_repair(self.store)
        else:
            job = find_job(self.store)
        return job if job is not None and job.machine_input["job"] == name else None
