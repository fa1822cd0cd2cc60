"""The jobs of the whole table, by the name under which the state machine of jobs runs each."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from daicho.archive.reader import ArchiveReader
from daicho.plan import Ledger
from daicho.rebuild.job import RebuildStep
from daicho.rebuild.obstacles import ObstacleBucket
from daicho.rebuild.purge import Purge, PurgeTable
from daicho.rebuild.purge_job import PURGE_PREFIX
from daicho.rebuild.rebuild import Rebuild, RebuildTable
from daicho.runtime.retry import RetryBudget
from daicho.runtime.settings import Settings
from daicho.storage.protocols import DescribesStream


class TableJobsTable(PurgeTable, RebuildTable, Protocol):
    """The operations of the table that these jobs need."""


@dataclass(frozen=True)
class TableJobs:
    """The rebuild of the table, and its purges. A job's name is in the state machine's input."""

    rebuild: Rebuild
    purge: Purge

    @classmethod
    def build(
        cls,
        settings: Settings,
        store: TableJobsTable,
        stream: DescribesStream,
        failures: ObstacleBucket,
        ledger: Ledger,
        archive: ArchiveReader | None,
        *,
        threads: int,
        now: Callable[[], dt.datetime],
    ) -> TableJobs:
        """Build the jobs of a deployed stack. ``archive``: None if nothing is archived."""
        return cls(
            Rebuild.build(
                settings, store, stream, failures, ledger, archive, threads=threads, now=now
            ),
            Purge.build(settings, store, ledger, threads=threads, now=now),
        )

    def run_step(self, name: str, retry_budget: RetryBudget) -> RebuildStep:
        """Do as much of a job as there is time for.

        Raises:
            StoreError: a store fails; the next step goes on.
        """
        if name.startswith(PURGE_PREFIX):
            return self.purge.run_step(name.removeprefix(PURGE_PREFIX), retry_budget)
        return self.rebuild.run_step(retry_budget)

    def fail_job(self, name: str, reason: str) -> None:
        """Record that nobody works on a job any more. A new request continues it."""
        if name.startswith(PURGE_PREFIX):
            self.purge.fail_job(name.removeprefix(PURGE_PREFIX), reason)
        else:
            self.rebuild.fail_job(reason)
