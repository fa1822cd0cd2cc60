"""One step of a job over the whole table: what it needs, and how it waits for deployments."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self, TypeVar

from daicho.archive.reader import ArchiveReader
from daicho.errors import StoreError
from daicho.jobs.pass_step import PassDependencies, PassStep
from daicho.jobs.step import JobStep
from daicho.layout.backfill_state import BackfillState, build_backfill_key
from daicho.plan import Ledger
from daicho.rebuild.job import TableJob
from daicho.rebuild.touches import MAX_PARALLELISM
from daicho.release.states import read_deployed
from daicho.runtime.rate_limit import RateLimiter
from daicho.runtime.settings import Settings
from daicho.storage.bucket import Bucket
from daicho.storage.protocols import DescribesStream
from daicho.storage.table import Table
from daicho.stream.gap import read_gap

DEPLOYMENT_WAIT_S = 15
"""The pause before a job looks again whether a deployment is over, in seconds."""
GAP_WAIT_S = 60
"""The pause before a job looks again whether lost records are recovered, in seconds."""
BLOCKED_WAIT_S = 60
"""The pause before a job that is blocked looks again, in seconds."""
Job = TypeVar("Job", bound=TableJob)


@dataclass(frozen=True, kw_only=True)
class TableDependencies(PassDependencies):
    """The dependencies of a rebuild, and of a purge.

    ``archive``: None without an archive. ``dirty_shards``: how many partitions dirty marks are
    spread over.
    """

    stream: DescribesStream
    failures: Bucket
    ledger: Ledger
    archive: ArchiveReader | None = None
    dirty_shards: int = 1

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
    ) -> Self:
        """Build those of a deployed stack, with the field migrations of its code."""
        return cls(
            store=store,
            stream=stream,
            failures=failures,
            ledger=ledger.with_migrations(settings.migration_package),
            now=now,
            settle=settings.settle_seconds,
            parallelism=min(MAX_PARALLELISM, threads),
            read=RateLimiter(settings.scan_units),
            archive=archive,
            dirty_shards=settings.dirty_shards,
        )


class TableStep(PassStep[TableDependencies, Job]):
    """One step: how it waits for deployments and for people."""

    def wait_for_deployment(self) -> JobStep | None:
        """End the step during a deployment or a gap; None if the step may continue.

        Before a pass that may be a proof, also wait until what ran before the deployment has ended.
        Until then it may write, and does not announce it.
        """
        job, on = self.job, self.on
        if read_gap(on.store).is_open:
            job.reason = "records of the stream are lost: daicho recover"
            return self.wait(GAP_WAIT_S)
        deployed = read_deployed(on.store)
        if deployed is None:
            job.reason = "a deployment is under way"
            return self.wait(DEPLOYMENT_WAIT_S)
        settled = deployed + dt.timedelta(seconds=on.settle)
        if job.passes > 1 and not job.began and settled > on.now():
            return self.wait(math.ceil((settled - on.now()).total_seconds()))
        return None

    def block(self, reason: str) -> JobStep:
        """End the step; the next one looks whether the reason is gone."""
        self.job.state, self.job.reason = "blocked", reason
        return replace(self.wait(BLOCKED_WAIT_S), blocked=True)

    def find_state(self, entity: str) -> BackfillState | None:
        """The backfill item of an entity; None if it has none."""
        item = self.on.store.get(build_backfill_key(entity), consistent=True)
        return None if item is None else BackfillState.parse(entity, item)

    def read_state(self, entity: str) -> BackfillState:
        """The backfill item of an entity.

        Raises:
            StoreError: it has none.
        """
        state = self.find_state(entity)
        if state is None:
            raise StoreError(f"{entity} has no backfill item: deploy the stack first")
        return state
