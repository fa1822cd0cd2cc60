"""Saves of jobs: of two saves whose outcome is unknown, at most one succeeds."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from daicho.errors import ConditionFailedError, UnavailableError
from daicho.jobs.lease import JobStore, OvertakenError
from daicho.rebuild.job import RebuildJob
from daicho.rebuild.requests import find_job
from daicho.storage import keys
from daicho.storage.attributes import Image
from tests.support.memory_stores import MemoryTable

NOW = dt.datetime(2026, 11, 28, 10, tzinfo=dt.UTC)


class LateTable(MemoryTable):
    """As long as ``is_late``, puts are not answered, and are carried out by `land`."""

    def __init__(self) -> None:
        super().__init__()
        self.is_late = False
        self._late: list[Callable[[], object]] = []

    def put(self, item: Image, **options: Any) -> Image | None:
        if self.is_late:
            self._late.append(partial(super().put, item, **options))
            raise UnavailableError("no answer")
        return super().put(item, **options)

    def land(self) -> list[bool]:
        """Carry out the late puts; whether each one succeeds."""
        late, self._late = self._late, []
        return [_succeeds(put) for put in late]


def _succeeds(put: Callable[[], object]) -> bool:
    try:
        put()
    except ConditionFailedError:
        return False
    return True


def begin() -> tuple[LateTable, JobStore, RebuildJob]:
    table = LateTable()
    jobs, job = JobStore(table, lambda: NOW), RebuildJob("1", {}, keys.render_instant(NOW))
    jobs.save(job)
    return table, jobs, job


@pytest.mark.parametrize("lands_between", [True, False])
def test_a_save_that_may_succeed_later_is_never_overwritten(lands_between: bool) -> None:
    # A finding is recorded, without an answer. The step saves the job without it afterwards. If
    # both succeeded, another step that has read the first would not record its own finding.
    table, jobs, job = begin()
    table.is_late, job.finding_pass = True, 1
    with pytest.raises(UnavailableError):
        jobs.save(job)
    landed = table.land() if lands_between else []
    table.is_late, job.finding_pass = False, 0
    if lands_between:
        with pytest.raises(OvertakenError):
            jobs.save(job)
    else:
        jobs.save(job)
    assert [*landed, *table.land()] == [lands_between]
    stored = find_job(table)
    assert stored is not None
    assert (stored.finding_pass, stored.rev) == (int(lands_between), 2)


def test_of_two_late_saves_one_succeeds() -> None:
    table, jobs, job = begin()
    table.is_late = True
    for finding_pass in (1, 0):
        job.finding_pass = finding_pass
        with pytest.raises(UnavailableError):
            jobs.save(job)
    assert table.land() == [True, False]
