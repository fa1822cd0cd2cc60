"""The nine differences that were known and traced before they were mended, each as a test.

Four were of the product, in rules that argue with time (27, 28, 30 and 34). The others were of the
simulator or the oracle, whose result meant little while they were there.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, cast

import pytest

from daicho.errors import SettingsError
from daicho.layout.backfill_state import RECORDED_KEY, BackfillState, build_backfill_key
from daicho.plan import ExpiryPlan, Generation, Ledger
from daicho.plan.expiry import CHANGED_AT
from daicho.rebuild.page_touch import PageTouch, TouchRate
from daicho.release.older_writers import OlderWriters
from daicho.release.refusals import ReleaseRefusedError
from daicho.release.release import Release
from daicho.runtime.rate_limit import RateLimiter
from daicho.runtime.retry import RetryBudget
from daicho.runtime.settings import Settings
from daicho.storage.attributes import Image, to_image
from daicho.storage.item_key import get_key
from daicho.storage.requests import ItemPage, Write
from daicho.stream.failed_batch import ON_FAILURE_PREFIX
from daicho.stream.heartbeat_watcher import HeartbeatProgress, HeartbeatWatcher
from daicho.testing.choices import Choices
from daicho.testing.faults.code_versions import (
    KILLER,
    MARK,
    MarkedImageLog,
    simulate_code_versions,
)
from daicho.testing.faults.processes import simulate_retry_budgets
from daicho.testing.schedules.base_item_writer import BaseItemWriter
from daicho.testing.stack_settings import FAILURE_BUCKET
from tests.delivery.schedules.rebuild_profiles import REVERTED
from tests.delivery.test_hardest_cases import Stage
from tests.simulator.faults.lowered_rebuild_limits import lower_rebuild_limits
from tests.simulator.releases.api_instances import ApiInstances
from tests.support.memory_stores import MemoryTable
from tests.support.sample_members import BASE_ITEM, CHANGED, PLAIN, WITH_LIST, disable, number

NOW = dt.datetime(2026, 11, 23, 0, 0, 10, tzinfo=dt.UTC)
ONE, TWO = number(PLAIN), number(PLAIN, WITH_LIST)
THREE = number(PLAIN, WITH_LIST, CHANGED)


@pytest.fixture(autouse=True)
def simulated() -> Iterator[None]:
    with ExitStack() as stack:
        stack.enter_context(simulate_code_versions(MarkedImageLog()))
        stack.enter_context(lower_rebuild_limits())
        stack.enter_context(simulate_retry_budgets())
        yield


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


def read_state(table: MemoryTable) -> BackfillState:
    item = table.get(build_backfill_key("Member"))
    assert item is not None
    return BackfillState.parse("Member", item)


def test_difference_1_a_failed_first_release_has_disabled_an_instance() -> None:
    """Its projector may still skip the instance, which code of an earlier generation would read."""
    table = MemoryTable()
    ended = disable(WITH_LIST, CHANGED)
    run_step(table, "check", ended, "first", "3")
    retiring = number(WITH_LIST, CHANGED)
    for step in ("check", "open"):
        run_step(table, step, retiring, f"second {step}", "2")
    assert "listed@1" in read_state(table).disabled


class SimulatedWriters:
    """A deployment with a writer and instances of the API."""

    def __init__(self, choices: Choices) -> None:
        stage = Stage()
        self.deployment = stage.deployment
        self.table = stage.table
        self.writer = BaseItemWriter(
            stage.deployment.dynamodb,
            stage.deployment.clock,
            choices,
            stage.deployment.entities,
            ("Card",),
            (),
        )
        stage.judge.refresh()
        self.api = ApiInstances(
            REVERTED,
            ("Card",),
            stage.deployment,
            stage.processes,
            self.writer,
            choices,
            stage.judge,
            lambda _line: None,
        )
        self.release = stage.release


def test_difference_2_an_item_is_created_again_at_another_instant() -> None:
    writers = SimulatedWriters(Choices())
    clock, drawn = writers.deployment.clock, []
    for _ in range(2):
        writers.writer.draw_image("Card")
        drawn.append(clock.now())
    assert drawn[0] < drawn[1]


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

    class SlowRate(TouchRate):
        def write(self, units: float, send: Any) -> bool:
            now[0] += dt.timedelta(seconds=301)
            return super().write(units, send)

    rate = SlowRate(RateLimiter(None), budget)
    page_touch = PageTouch(table, ledger, {"Member": 2}, lambda: now[0], rate)
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


class ReplacingChoices(Choices):
    """Every poller is replaced that may be replaced."""

    def draw_bool(self, probability: float) -> bool:
        return True


def test_difference_5_a_delivery_ends_although_a_record_always_kills() -> None:
    stage = Stage()
    stage.running.choices = ReplacingChoices()
    stage.running.code_version = stage.running.previous_version = 12  # not fixed
    stage.put(2, **{MARK: f"{KILLER}:1"})
    stage.running.drain()
    assert stage.running.unexpected == []
    assert stage.deployment.failure_objects


@pytest.mark.parametrize("seconds", ["1", "89"])
def test_difference_6_a_release_waits_until_no_earlier_filter_is_in_use(seconds: str) -> None:
    """A heartbeat proves that a filter knows the entity, and not which one it is."""
    environment = {"TABLE_NAME": "t", "STAGE": "prod", "FILTER_SPREAD_SECONDS": seconds}
    with pytest.raises(SettingsError, match="an earlier event filter"):
        Settings.parse(environment).check_filter_spread()


def test_difference_7_an_instance_of_rolled_back_code_announces_each_write() -> None:
    writers = SimulatedWriters(Choices())
    writers.release(2)
    api = writers.api
    api.version, api.consumers = (1, 2), 2
    api.start()
    (instance,) = api.running
    clock = writers.deployment.clock
    item = writers.table.get(build_backfill_key("Card"))
    assert item is not None
    before = BackfillState.parse("Card", item).older_seen
    clock.advance(3_600)
    api.put(instance, "Card")
    item = writers.table.get(build_backfill_key("Card"))
    assert item is not None
    assert BackfillState.parse("Card", item).older_seen > before


def test_difference_8_a_frozen_instance_announces_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its monotonic clock stood still while a rebuild was completed."""
    table = MemoryTable()
    table.batch_write([BackfillState("Member", 2, 2).to_item()])
    wall = time.time()
    monkeypatch.setattr(time, "monotonic", lambda: 1_000.0)
    monkeypatch.setattr(time, "time", lambda: wall)
    writers = OlderWriters(table, replace(TWO, written={"Member": 1}), lambda _: None)
    writers.announce()
    table.batch_write([replace(read_state(table), oldest=2).to_item()])
    wall += 3_600
    writers.announce()
    assert read_state(table).oldest == 1


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
