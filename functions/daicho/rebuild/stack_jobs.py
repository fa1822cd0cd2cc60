"""The jobs of the stack itself, not of a tenant: which one a name is of."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

from daicho.archive.reader import ArchiveReader
from daicho.jobs.state_machine import PURGE_PREFIX
from daicho.jobs.step import JobStep
from daicho.plan import Ledger
from daicho.rebuild.purge import Purge
from daicho.rebuild.rebuild import Rebuild
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.retry import RetryBudget
from daicho.runtime.settings import Settings
from daicho.storage.bucket import Bucket
from daicho.storage.protocols import DescribesStream
from daicho.storage.table import Table


@dataclass(frozen=True)
class StackJobs:
    """The rebuild, and the purge. A job is named as in the input of the state machine."""

    rebuild: Rebuild
    purge: Purge

    @classmethod
    def build(
        cls,
        settings: Settings,
        store: Table,
        stream: DescribesStream,
        failures: Bucket,
        ledger: Ledger,
        archive: ArchiveReader | None,
        *,
        threads: int,
        now: Callable[[], dt.datetime],
    ) -> StackJobs:
        """Build the jobs of a deployed stack, with the field migrations of its code."""
        ledger = ledger.with_migrations(settings.migration_package)
        return cls(
            Rebuild.build(
                settings, store, stream, failures, ledger, archive, threads=threads, now=now
            ),
            Purge.build(settings, store, ledger, threads=threads, now=now),
        )

    def run_step(self, job: str, retry_budget: RetryBudget) -> JobStep:
        """Do as much work on a job as there is time for.

        Raises:
            StoreError: a store fails; the next step continues.
        """
        if job.startswith(PURGE_PREFIX):
            return self.purge.run_step(job.removeprefix(PURGE_PREFIX), retry_budget)
        return self.rebuild.run_step(retry_budget, job)

    def fail_job(self, job: str, reason: str) -> None:
        """Record that nobody works on a job any more. A new request continues it."""
        if job.startswith(PURGE_PREFIX):
            self.purge.fail_job(job.removeprefix(PURGE_PREFIX), reason)
        else:
            self.rebuild.fail_job(reason, job)
