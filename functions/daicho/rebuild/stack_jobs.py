"""The jobs of the stack itself, not of a tenant: which one a name is of.

Many functions may touch ranges of segments at once, in advance of a rebuild's steps (ADR 0124).
Each call works on one range. It proves nothing, and changes nothing but items: the steps that
follow find what the ranges have left, and their rules hold as without them.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Protocol

from daicho.archive.reader import ArchiveReader
from daicho.layout.backfill_state import BackfillState, build_backfill_key
from daicho.plan import Ledger
from daicho.rebuild.job import DEPLOYMENT_WAIT_S, RebuildJob, RebuildStep
from daicho.rebuild.obstacles import ObstacleBucket
from daicho.rebuild.purge import Purge, PurgeTable
from daicho.rebuild.purge_job import PURGE_PREFIX
from daicho.rebuild.rebuild import Rebuild, RebuildTable
from daicho.rebuild.requests import find_job
from daicho.rebuild.touches import select_older_items
from daicho.release.states import read_deployed
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.retry import RetryBudget
from daicho.runtime.settings import Settings
from daicho.storage.parallel_scan import ParallelScan, ScanSegments
from daicho.storage.protocols import DescribesStream

RANGES = 512
SEGMENTS_PER_RANGE = 8


@dataclass(frozen=True)
class SegmentRange:
    """A range of segments, and how far it is.

    ``number``: from 0 to `RANGES` - 1. ``concurrency``: how many ranges share the rate.
    ``position``: what the last call answered; None for the first one.
    """

    number: int
    concurrency: int
    position: Mapping[str, Any] | None = None

    @property
    def segments(self) -> ScanSegments:
        """The segments that are not at their end."""
        if self.position:
            return ScanSegments.from_json(self.position)
        first = self.number * SEGMENTS_PER_RANGE
        return ScanSegments(
            RANGES * SEGMENTS_PER_RANGE, dict.fromkeys(range(first, first + SEGMENTS_PER_RANGE))
        )


@dataclass(frozen=True)
class RangeStep:
    """The result of a call: whether the range is over, or how many seconds to wait."""

    blocked: ClassVar[bool] = False
    done: bool
    wait: int = 0
    position: Mapping[str, Any] | None = None

    def to_json(self) -> dict[str, object]:
        """As the state machine reads it."""
        return {"done": self.done, "wait": self.wait, "position": self.position}


def touch_range(
    rebuild: Rebuild, id: str, wanted: SegmentRange, retry_budget: RetryBudget
) -> RangeStep:
    """Touch as much of a range as there is time for.

    The range is over without any work if the job is paused, or its generations are not the newest.

    Raises:
        StoreError: a store fails; the next call goes on.
    """
    job = find_job(rebuild.store)
    if job is None or job.id != id or job.state != "running" or not _is_newest(rebuild, job):
        return RangeStep(done=True)
    if read_deployed(rebuild.store) is None:
        return RangeStep(False, DEPLOYMENT_WAIT_S, wanted.position)
    own = replace(job, rate=max(1.0, job.rate / wanted.concurrency), effective_rate=0.0)
    segments = wanted.segments
    scan = select_older_items(job.targets, consistent=False)
    work = rebuild.build_page_touch(own, retry_budget).run
    parallel = ParallelScan(rebuild.store, scan, work, rebuild.parallelism, rebuild.read)
    is_over = parallel.run(segments, retry_budget, lambda _: None)
    return RangeStep(is_over, position=segments.to_json())


def _is_newest(rebuild: Rebuild, job: RebuildJob) -> bool:
    """Whether the job's generations are the newest that were released, and are known here."""
    for entity, generation in job.targets.items():
        item = rebuild.store.get(build_backfill_key(entity), consistent=True)
        if item is None or BackfillState.parse(entity, item).newest != generation:
            return False
        if rebuild.ledger.newest_generation(entity).number < generation:
            return False
    return True


class StackJobTable(PurgeTable, RebuildTable, Protocol):
    """The operations of the table that the jobs need."""


@dataclass(frozen=True)
class StackJobs:
    """The rebuild, and the purge. A job is named as in the input of the state machine."""

    rebuild: Rebuild
    purge: Purge

    @classmethod
    def build(
        cls,
        settings: Settings,
        store: StackJobTable,
        stream: DescribesStream,
        failures: ObstacleBucket,
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

    def run_step(
        self, job: str, retry_budget: RetryBudget, wanted: Mapping[str, Any] | None = None
    ) -> RebuildStep | RangeStep:
        """Do as much work on a job as there is time for.

        ``wanted``: touch items of this range of segments only, in advance of a rebuild's steps.

        Raises:
            StoreError: a store fails; the next step goes on.
        """
        if wanted is not None:
            return touch_range(self.rebuild, job, SegmentRange(**wanted), retry_budget)
        if job.startswith(PURGE_PREFIX):
            return self.purge.run_step(job.removeprefix(PURGE_PREFIX), retry_budget)
        return self.rebuild.run_step(retry_budget, job)

    def fail_job(self, job: str, reason: str) -> None:
        """Record that nobody works on a job any more. A new request continues it."""
        if job.startswith(PURGE_PREFIX):
            self.purge.fail_job(job.removeprefix(PURGE_PREFIX), reason)
        else:
            self.rebuild.fail_job(reason, job)
