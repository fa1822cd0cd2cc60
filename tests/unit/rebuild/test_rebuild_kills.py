"""A rebuild that is killed, throttled, paused or changed continues at its position."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import pytest

from daicho.errors import ThrottledError
from daicho.jobs.lease import JobStore
from daicho.layout.backfill_state import BackfillState
from daicho.plan import NewerGenerationError
from daicho.rebuild import rebuild as rebuild_module
from daicho.rebuild import touches
from daicho.rebuild.job import RebuildJob
from daicho.rebuild.kept_phase import KeptPhase
from daicho.rebuild.requests import change_job, find_job, pause_job, request_rebuild, resume_job
from daicho.rebuild.stack_jobs import StackJobs
from daicho.release.states import build_deployed_update, build_record_update
from daicho.runtime.retry import RetryBudget
from daicho.storage.attributes import Image, ItemKey, to_image
from daicho.storage.protocols import DescribesStream, StreamShard, apply_update
from daicho.storage.requests import ItemPage, Scan
from tests.support.memory_stores import MemoryBucket, MemoryTable
from tests.support.sample_members import PLAIN, WITH_LIST, number

LEDGER = number(PLAIN, WITH_LIST)
BEGIN = dt.datetime(2026, 11, 23, 10, tzinfo=dt.UTC)
ITEMS, ROWS, PAGE, PARALLELISM, SEGMENTS = 36, 18, 2, 4, 6


class KilledError(BaseException):
    """The function ended in the middle of a write; nothing can handle it."""


@dataclass
class Faults:
    """When requests fail. ``kill_at``: the number of the write before or after which it ends."""

    kill_at: int = 0
    is_done: bool = False
    throttled: Counter[str] = field(default_factory=Counter)
    writes: int = 0


class WatchedTable(MemoryTable):
    """Counts the items that scans read and the touches of each item; fails as planned."""

    def __init__(self) -> None:
        super().__init__()
        self.faults = Faults()
        self.scanned = 0
        self.touches: Counter[str] = Counter()
        self._own = Lock()

    def scan(self, scan: Scan) -> ItemPage:
        page = super().scan(scan)
        with self._own:
            self.scanned += page.scanned
        return page

    def put(self, item: Image, **options: Any) -> Image | None:
        self._begin_write()
        result = super().put(item, **options)
        self._end_write()
        return result

    def update(self, key: ItemKey, update: str, **options: Any) -> Image | None:
        if update == "SET gen = :generation":
            with self._own:
                self.touches[key.pk] += 1
                if self.faults.throttled[key.pk]:
                    self.faults.throttled[key.pk] -= 1
                    raise ThrottledError("slow down")
        self._begin_write()
        result = super().update(key, update, **options)
        self._end_write()
        return result

    def _begin_write(self) -> None:
        with self._own:
            self.faults.writes += 1
            if self.faults.writes == self.faults.kill_at and not self.faults.is_done:
                raise KilledError

    def _end_write(self) -> None:
        with self._own:
            if self.faults.writes == self.faults.kill_at and self.faults.is_done:
                self.faults.kill_at = 0
                raise KilledError


class Stage(DescribesStream):
    """A table of older items, and a rebuild of them that never comes to its proof."""

    def __init__(self) -> None:
        self.table = WatchedTable()
        self.now = BEGIN
        table = self.table
        table.batch_write(make_member(n) for n in range(ITEMS))
        table.batch_write(to_image({"PK": f"t#~row#{n}", "SK": "-"}) for n in range(ROWS))
        table.batch_write([BackfillState("Member", 1, 2).to_item()])
        apply_update(table, build_record_update("arn", frozenset({"Member"})))
        apply_update(table, build_deployed_update("arn", BEGIN - dt.timedelta(hours=1)))
        self.jobs = StackJobs(
            store=table,
            stream=self,
            failures=MemoryBucket(),
            ledger=LEDGER,
            now=lambda: self.now,
            settle=60,
            segments=SEGMENTS,
            parallelism=PARALLELISM,
        )
        self.job = request_rebuild(table, {"Member": 2}, self.now, rate=1e9)
        table.faults.writes = 0

    def list_shards(self) -> tuple[StreamShard, ...]:
        return ()

    def sleep(self, seconds: float) -> None:
        self.now += dt.timedelta(seconds=seconds)

    def step(self, id: str | None = None) -> bool:
        """One invocation; whether the execution is over."""
        until = self.now + dt.timedelta(seconds=30)
        budget = RetryBudget(
            lambda: (until - self.now).total_seconds(),  # noqa: PLW0108  # its time moves
            20.0,
            self.sleep,
            lambda: 0.5,
        )
        step = self.jobs.run_step(id or self.find_job().id, budget)
        self.sleep(step.wait)
        return step.done

    def run(self) -> RebuildJob:
        """Repeat steps as the state machine does, until the passes are over."""
        for _ in range(20):
            if (job := self.find_job()).phase == "prove":
                return job
            try:
                self.step()
            except KilledError:
                self.table.faults.kill_at = 0
        raise AssertionError(f"the passes are not over: {self.find_job()}")

    def find_job(self) -> RebuildJob:
        job = find_job(self.table)
        assert job is not None
        return job

    def list_generations(self) -> set[str]:
        images = [image for image in self.table.items.values() if "gen" in image]
        assert len(images) == ITEMS
        return {image["gen"]["N"] for image in images}


def select_small_pages(targets: dict[str, int], *, consistent: bool) -> Scan:
    return touches.select_older_items(targets, consistent=consistent, limit=PAGE)


def make_member(id: int) -> Image:
    created = "2026-11-21T01:05:40.123456Z"
    key = {"PK": f"t#Member#{id}", "SK": "#", "type": "Member", "gen": 1, "version": 1}
    return to_image({**key, "id": f"{id}", "name": "Ada", "team": "a", "created_at": created})


@pytest.fixture(autouse=True)
def _small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    assert touches.ITEMS_PER_PAGE * touches.MAX_PARALLELISM <= 1_000
    monkeypatch.setattr(rebuild_module, "select_older_items", select_small_pages)


@pytest.mark.parametrize("is_done", [False, True], ids=["before", "after"])
def test_a_kill_at_any_write_repeats_at_most_a_round(is_done: bool) -> None:
    whole = Stage()
    whole.run()
    assert (sum(whole.table.touches.values()), whole.list_generations()) == (ITEMS, {"2"})
    assert whole.table.faults.writes > ITEMS
    kills = range(1, whole.table.faults.writes + 1, 3)
    most = PAGE * PARALLELISM
    repeated: list[tuple[int, int]] = []
    for kill in kills:
        stage = Stage()
        stage.table.faults = Faults(kill, is_done)
        job = stage.run()
        assert stage.list_generations() == {"2"}, kill
        passes = job.passes - whole.find_job().passes
        read = stage.table.scanned - whole.table.scanned * (1 + passes / 2)
        touched = sum(stage.table.touches.values()) - ITEMS
        assert passes == 0, kill
        assert read <= most, kill
        assert touched <= most, kill
        repeated.append((int(read), touched))
    assert max(read for read, _ in repeated) > 0
    # A touch that was written makes its item one that the scan leaves out.
    assert (max(touched for _, touched in repeated) > 0) != is_done


def test_the_next_step_begins_with_the_rate_that_was_accepted() -> None:
    stage = Stage()
    throttled = Counter({f"t#Member#{n}": 1000 for n in range(ITEMS)})
    stage.table.faults.throttled = throttled
    stage.step()
    job = stage.find_job()
    assert job.is_throttled
    assert job.effective_rate < job.rate
    assert stage.list_generations() == {"1"}
    stage.table.faults.throttled = Counter()
    stage.run()
    assert stage.list_generations() == {"2"}


class PausingTable(WatchedTable):
    """Calls a function at one of its touches."""

    at = 0
    action: Any = None

    def update(self, key: ItemKey, update: str, **options: Any) -> Image | None:
        result = super().update(key, update, **options)
        if self.at and sum(self.touches.values()) >= self.at:
            self.at = 0
            self.action()
        return result


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.setitem(globals(), "WatchedTable", PausingTable)
    return Stage()


def test_a_pause_ends_the_execution_and_another_one_continues(stage: Stage) -> None:
    table: Any = stage.table
    table.at, table.action = 20, lambda: pause_job(table, stage.job, stage.now)
    assert not stage.step(stage.job.id)  # it notices that its job was changed
    assert stage.step(stage.job.id)
    touched = sum(table.touches.values())
    assert 20 <= touched < 20 + PAGE * PARALLELISM
    assert stage.find_job().state == "paused"
    resumed = resume_job(table, stage.find_job(), stage.now)
    assert stage.step(stage.job.id)  # the earlier execution has nothing to do any more
    assert sum(table.touches.values()) == touched
    assert not stage.step(resumed.id)
    stage.run()
    assert sum(table.touches.values()) <= ITEMS + PAGE * PARALLELISM
    assert stage.list_generations() == {"2"}


def test_another_rate_and_consent_hold_from_the_next_step_on(stage: Stage) -> None:
    table: Any = stage.table
    table.at = 20
    table.action = lambda: change_job(table, stage.job, stage.now, rate=7e8, without=True)
    assert not stage.step(stage.job.id)
    job = stage.find_job()
    assert (job.rate, job.without, job.passes) == (7e8, True, 1)
    stage.run()
    assert sum(table.touches.values()) <= ITEMS + PAGE * PARALLELISM
    assert stage.find_job().rate == 7e8


def test_an_archived_row_of_a_newer_release_blocks_a_function_with_an_older_lock_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fill(_phase: KeptPhase) -> None:
        raise NewerGenerationError("Member generation 3")

    stage = Stage()
    job = stage.run()
    job.phase = "fill"
    JobStore(stage.table, lambda: stage.now).save(job)
    monkeypatch.setattr(KeptPhase, "fill", fill)
    assert not stage.step()
    job = stage.find_job()
    assert (job.state, job.reason) == (
        "blocked",
        "this function has an older lock file than the stage",
    )


def test_items_whose_unique_value_is_taken_block_a_rebuild_that_accepts_what_is_left(
    stage: Stage,
) -> None:
    job = stage.find_job()
    job.phase, job.without, job.taken, job.left = "prove", True, 1, {"t#Member#1 #": "taken"}
    stage.jobs.jobs.save(job)
    assert not stage.step()
    job = stage.find_job()
    assert (job.state, job.phase, job.passes) == ("blocked", "touch", 2)
    assert "a unique value that another item has" in job.reason
