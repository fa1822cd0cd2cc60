"""The deletion of a tenant's items, in rounds that fit an invocation."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from daicho.cdk.settings import STAGES
from daicho.jobs.pass_step import MAX_PARALLELISM
from daicho.jobs.step import SAVE_INTERVAL
from daicho.layout.tenant_items import CLOSED_CACHE_S
from daicho.runtime.retry import END_RESERVE_S
from daicho.runtime.settings import Settings
from daicho.tenants.deletion import WRITES_PER_SECOND, DeletionWorker
from daicho.tenants.item_remover import is_of_tenant

REQUEST_S = 29
"""The timeout of the API's function."""


def test_a_round_of_a_scan_fits_what_a_step_keeps_for_its_end() -> None:
    most = (is_of_tenant("t", consistent=True).limit or 0) * MAX_PARALLELISM
    assert 0 < most / WRITES_PER_SECOND <= SAVE_INTERVAL.total_seconds() < END_RESERVE_S


def compute_wait(settle: int, upload: int, *, has_objects: bool = True, passes: int = 1) -> int:
    """The seconds of a deletion after so many passes."""
    store: Any = None
    settings = Settings("table", "local", settle_seconds=settle, upload_seconds=upload)
    objects: Any = object() if has_objects else None
    now = dt.datetime.now
    job = DeletionWorker.build(settings, store, store, objects, threads=1, now=now)
    return job.compute_pause(passes)


@pytest.mark.parametrize("stage", STAGES.values(), ids=STAGES)
@pytest.mark.parametrize("settle", [None, 1, 300])
def test_an_upload_url_has_expired_when_the_first_pass_that_may_prove_begins(
    stage: Any, settle: int | None
) -> None:
    wait = compute_wait(settle or stage.settle_seconds, stage.upload_seconds)
    assert wait > stage.upload_seconds + CLOSED_CACHE_S + REQUEST_S
    assert wait >= (settle or stage.settle_seconds)


def test_uploads_are_waited_for_once() -> None:
    assert [compute_wait(8, 30, passes=passes) for passes in (1, 2, 3)] == [70, 8, 8]


def test_a_stack_without_objects_waits_for_its_writers_alone() -> None:
    assert compute_wait(8, 900, has_objects=False) == 8
    assert compute_wait(1_000, 900) == 1_000
