"""Differences that were known and traced before they were mended, each as a test.

Some were of the product, in rules that argue with time (27, 28, 30 and 34). The others were of the
simulator or the oracle, whose result meant little while they were there. Planted faults and
`tests/unit/release` show the first, the seventh and the eighth.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from daicho.errors import SettingsError
from daicho.layout.backfill_state import RECORDED_KEY
from daicho.plan import ExpiryPlan, Generation, Ledger
from daicho.plan.expiry import CHANGED_AT
from daicho.rebuild.page_touch import PageTouch
from daicho.release.refusals import ReleaseRefusedError
from daicho.release.release import Release
from daicho.runtime.rate_limit import RateLimiter
from daicho.runtime.retry import RetryBudget
from daicho.runtime.settings import Settings
from daicho.storage.attributes import Image, get_key, to_image
from daicho.storage.requests import ItemPage, Write
from daicho.stream.failed_batch import ON_FAILURE_PREFIX
from daicho.stream.heartbeat_watcher import HeartbeatProgress, HeartbeatWatcher
from daicho.testing.stack_settings import FAILURE_BUCKET
from tests.delivery.played_stage import Stage, simulated
from tests.support.memory_stores import MemoryTable
from tests.support.sample_members import BASE_ITEM, CHANGED, PLAIN, WITH_LIST, number

__all__ = ["simulated"]
NOW = dt.datetime(2026, 11, 23, 0, 0, 10, tzinfo=dt.UTC)
ONE, TWO = number(PLAIN), number(PLAIN, WITH_LIST)
THREE = number(PLAIN, WITH_LIST, CHANGED)


class PassingWatcher:
    """Heartbeats pass at once."""

    def watch(self, _run: object, _budget: object) -> HeartbeatProgress:
        return HeartbeatProgress(1, 1)

    def forget(self, _run: object) -> None:
        """Nothing is kept."""


def run_step(table: MemoryTable, step: str, ledger: Ledger, run: str, source: str) -> str:
    """A step of a release, as its function runs it."""
    watcher = cast(HeartbeatWatcher, PassingWatcher())
    budget = RetryBudget(lambda: 600.0, 20.0, lambda _: None, lambda: 0.5)
    return Release(table, watcher, ledger, 0.0).run_step(step, run, source, budget)


def test_difference_3_a_touch_that_was_planned_too_long_ago_is_not_sent() -> None:
    """The last change of the item, which the touch writes, would be five minutes too early."""
    expires = ExpiryPlan(3_600, archive=False, of=CHANGED_AT)
    ledger = Ledger(
        {"Member": (Generation(1, PLAIN), Generation(2, replace(PLAIN, expires=expires)))}
    )
    image = to_image(
        {
            **{"PK": "t#Member#1", "SK": "-", "type": "Member", "gen": 1, "version": 4},
            **{"id": "1", "name": "Ada", "created_at": "2026-11-21T01:05:40.000000Z"},
        }
    )
    table, now = MemoryTable(), [NOW]
    table.put(image)
    budget = RetryBudget(lambda: 600.0, 20.0, lambda _: None, lambda: 0.5)

    class SlowLimiter(RateLimiter):
        def wait(self, units: float) -> None:
            now[0] += dt.timedelta(seconds=301)

    page_touch = PageTouch(table, ledger, {"Member": 2}, lambda: now[0], SlowLimiter(None), budget)
    assert page_touch.run(ItemPage((image,), 1, None, 0.0)).touched == 1
    touched = table.get(get_key(image))
    assert touched is not None
    assert touched["ttl"] == {"N": str(int(now[0].timestamp()) + 3_600)}


def test_difference_4_what_the_last_delivery_discards_is_redriven() -> None:
    stage = Stage()
    stage.put(1)
    stage.deployment.clock.advance(23 * 3_600)  # more than the maximum age of the mapping
    assert stage.rebuilds.finish() == []
    bucket = stage.deployment.buckets[FAILURE_BUCKET]
    assert stage.deployment.failure_objects
    assert not [name for name in bucket.stored if name.startswith(ON_FAILURE_PREFIX)]
    assert stage.running.unexpected == []


@pytest.mark.parametrize("seconds", ["1", "89"])
def test_difference_6_a_release_waits_until_no_earlier_filter_is_in_use(seconds: str) -> None:
    """A heartbeat proves that a filter knows the entity, and not which one it is."""
    environment = {"TABLE_NAME": "t", "STAGE": "prod", "FILTER_SPREAD_SECONDS": seconds}
    with pytest.raises(SettingsError, match="an earlier event filter"):
        Settings.parse(environment).check_filter_spread()


class OvertakenTable(MemoryTable):
    """Another release comes before a transaction."""

    def __init__(self) -> None:
        super().__init__()
        self.prepare: Any = None

    def transact(self, writes: Sequence[Write], *given: Any, **named: Any) -> None:
        """Do what was prepared, once, and then the transaction."""
        prepare, self.prepare = self.prepare, None
        if prepare is not None:
            prepare()
        super().transact(writes, *given, **named)


def test_difference_9_a_late_release_does_not_overwrite_a_newer_one() -> None:
    table = OvertakenTable()
    table.batch_write([BASE_ITEM])

    def release(ledger: Ledger, source: str) -> None:
        for step in ("check", "open"):
            run_step(table, step, ledger, f"{source} {step}", source)

    for ledger, source in ((ONE, "1"), (TWO, "2")):
        release(ledger, source)
    table.prepare = lambda: release(THREE, "3")
    with pytest.raises(ReleaseRefusedError):
        run_step(table, "open", TWO, "again", "2")
    record: Image | None = table.get(RECORDED_KEY)
    assert record is not None
    assert record["source"] == {"S": "3"}
