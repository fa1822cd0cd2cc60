"""Ranges of segments that child executions touch in advance of a rebuild's loop."""

from __future__ import annotations

from dataclasses import replace

import pytest

from daicho.rebuild.job import RebuildJob
from daicho.rebuild.requests import pause_job
from daicho.rebuild.stack_jobs import (
    RANGES,
    SEGMENTS_PER_RANGE,
    SegmentRange,
    touch_range,
)
from daicho.release.states import build_record_update
from daicho.runtime.retry import RetryBudget
from daicho.storage.protocols import apply_update
from tests.unit.rebuild.test_rebuild_kills import ITEMS, Stage

BUDGET = RetryBudget(lambda: 300.0, reserve=20, sleep=lambda _: None)


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.setattr("daicho.rebuild.stack_jobs.RANGES", 3)
    return Stage()


def touch(stage: Stage, number: int, **values: object) -> bool:
    wanted = replace(SegmentRange(number, 40), **values)  # type: ignore[arg-type]
    return touch_range(stage.rebuild, stage.job.id, wanted, BUDGET).done


def test_all_ranges_together_are_the_whole_table() -> None:
    segments = [SegmentRange(number, 40).segments for number in range(RANGES)]
    assert {each.total for each in segments} == {RANGES * SEGMENTS_PER_RANGE}
    starts = [start for each in segments for start in each.starts]
    assert starts == list(range(RANGES * SEGMENTS_PER_RANGE))


def test_ranges_touch_everything_and_leave_the_job_to_the_loop(stage: Stage) -> None:
    before = stage.find_job()
    assert all(touch(stage, number) for number in range(3))
    assert stage.list_generations() == {"2"}
    assert sum(stage.table.touches.values()) == ITEMS
    assert stage.find_job() == before
    job = stage.run()
    assert (job.passes, job.counts["touched"]) == (2, 0)


def test_a_range_continues_at_its_position(stage: Stage) -> None:
    over = SegmentRange(0, 40).segments
    over.starts.clear()
    assert touch(stage, 0, position={**over.to_json(), "starts": {f"{n}": None for n in range(4)}})
    assert 0 < sum(stage.table.touches.values()) < ITEMS / 3


def test_a_range_touches_nothing_that_the_job_does_not_ask_for(stage: Stage) -> None:
    other = touch_range(stage.rebuild, "other", SegmentRange(0, 40), BUDGET)
    assert (other.done, other.to_json()["position"]) == (True, None)
    pause_job(stage.table, stage.job, stage.now)
    assert touch(stage, 1)
    apply_update(stage.table, build_record_update("arn", frozenset({"Member"})))
    job: RebuildJob = replace(stage.find_job(), state="running")
    stage.rebuild.jobs.save(job)
    waiting = touch_range(stage.rebuild, stage.job.id, SegmentRange(2, 40), BUDGET)
    assert (waiting.done, waiting.wait > 0) == (False, True)
    assert sum(stage.table.touches.values()) == 0
