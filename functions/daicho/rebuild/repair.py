"""Writes what existing items derive again: a rebuild without a newer generation (rules 38, 57).

One pass over the table gives each chosen item a repair touch, whose record makes the projector
write all of the item's rows. Items that cannot be derived are listed and not touched. The run is
complete when heartbeats have passed every shard after the last touch.

If a step is killed, the next one continues from the job's item. A page that is read again has only
what was not touched, because all touches of a run write one value.

It mends the rows of items that exist throughout the pass. Totals do not change.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field, replace

from daicho.jobs.lease import is_under_way
from daicho.jobs.step import SAVE_INTERVAL, JobStep
from daicho.layout.marks import REPAIR_MARK
from daicho.rebuild.item_touch import ObstacleError, Touch
from daicho.rebuild.obstacles import count_set_aside
from daicho.rebuild.page_touch import PageTouch
from daicho.rebuild.purge import REBUILD_WAIT_S
from daicho.rebuild.rebuild import RebuildStep
from daicho.rebuild.repair_job import RepairJob
from daicho.rebuild.repair_touch import StreamNumbers, plan_repair_touch
from daicho.rebuild.requests import find_job
from daicho.rebuild.table_step import TableDependencies
from daicho.rebuild.touches import select_items_of_entities
from daicho.runtime.retry import RetryBudget
from daicho.storage import keys
from daicho.storage.attributes import Image, get_key
from daicho.storage.requests import Scan
from daicho.stream.heartbeat_watcher import HeartbeatWatcher
from daicho.stream.shard_items import read_shards
from daicho.stream.shard_progress import StreamProgress

MAX_LAG = dt.timedelta(seconds=30)
"""How far the projector may be behind before the rate is halved."""
MAX_ATTEMPTS = 3
"""Touches of an item that is dismissed, or edited after it was dismissed, again and again."""


@dataclass
class StreamLag:
    """Whether the projector is behind, as the job has seen it last."""

    is_behind: bool = False


@dataclass(frozen=True, kw_only=True)
class PageRepair(PageTouch):
    """The repair touches of a page. ``run``: what each of them writes."""

    run_id: str
    numbers: StreamNumbers
    lag: StreamLag = field(default_factory=StreamLag)

    def touch_item(self, image: Image) -> bool:
        """Touch an item; False if it is gone, or was touched by the run before."""
        for _ in range(MAX_ATTEMPTS):
            if super().touch_item(image):
                return True
            current = self.store.get(get_key(image), consistent=True)
            if current is None or current.get(REPAIR_MARK) == {"S": self.run_id}:
                return False
            image = current  # it was dismissed, or edited, since it was read
        raise ObstacleError("it is changed all the time")

    def plan_touch(self, image: Image) -> Touch:
        """Plan the repair touch of an item."""
        touch = plan_repair_touch(self.ledger, image, self.run_id, self.numbers, self.now())
        return replace(touch, units=touch.units * (2 if self.lag.is_behind else 1))


class RepairStep(RebuildStep):
    """One step of a repair run."""

    job: RepairJob

    def __init__(self, on: TableDependencies, job: RepairJob, retry_budget: RetryBudget) -> None:
        super().__init__(on, job, retry_budget)
        self.lag, self._measured = StreamLag(), on.now()
        self._page_touch = PageRepair(
            store=on.store,
            ledger=on.ledger,
            targets=job.targets,
            now=on.now,
            limiter=self._limiter,
            retry_budget=retry_budget,
            run_id=job.run,
            numbers=StreamNumbers(on.store, on.stream),
            lag=self.lag,
        )

    def _follow_release(self) -> JobStep | None:
        """Wait for a rebuild, or for a deployment."""
        job, on = self.job, self.on
        rebuild = find_job(on.store)
        if rebuild is not None and rebuild.state == "running" and is_under_way(rebuild, on.now()):
            job.reason = "a rebuild has priority"
            return self.wait(min(on.settle, REBUILD_WAIT_S))
        return self.wait_for_deployment()

    def _select_items(self) -> Scan:
        """One pass is all there is, so it reads consistently."""
        return select_items_of_entities(self.job.targets, self.job.tenant, self.job.run)

    def save_round(self) -> None:
        """Save the job, and look how far the projector is behind."""
        if self.on.now() >= self._measured + SAVE_INTERVAL:
            self.measure_lag()
        super().save_round()

    def measure_lag(self) -> None:
        """Find the low time. The rate is halved while it is too old."""
        self._measured = self.on.now()
        shards = self.on.stream.list_shards()
        items = read_shards(self.on.store, [shard.id for shard in shards])
        low_time = StreamProgress(shards, items).find_low_time()
        self.lag.is_behind = low_time < keys.render_instant(self._measured - MAX_LAG)

    def _show_progress(self) -> None:
        """Show nothing: no reader waits for a repair."""

    def _finish_pass(self) -> JobStep:
        self.job.total, self.job.phase = self.job.seen, "prove"
        self.save()
        return JobStep(done=False)

    def _prove(self) -> JobStep:
        """Wait for heartbeats; what is set aside is left to a redrive, which repairs it too."""
        job, on = self.job, self.on
        watcher, run = HeartbeatWatcher(on.store, on.stream, now=on.now), self._name_heartbeats()
        progress = watcher.watch(run, self.budget)
        if not progress.has_passed:
            job.reason = str(progress)
            self.save()
            return JobStep(done=False)
        watcher.forget(run)
        counts = count_set_aside(on.store, (shard.id for shard in on.stream.list_shards()))
        if count := sum(counts[entity] for entity in ("", *job.targets)):
            job.reason = f"{count} records are set aside: daicho redrive applies them"
        job.state, job.finished_at = "succeeded", keys.render_instant(on.now())
        self.save()
        return JobStep(done=True)
