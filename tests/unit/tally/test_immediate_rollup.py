"""Totals that the projector brings up after each batch, where the aggregate asks for it."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from daicho.errors import ThrottledError
from daicho.plan import Ledger
from daicho.runtime.clock import utc_now
from daicho.runtime.retry import RetryBudget
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.protocols import apply_update
from daicho.stream.journal import NO_RUN, set_flag_update
from daicho.stream.projector import Projector
from daicho.stream.records import Batch
from daicho.tally import reader, slots, total_items
from tests.support.memory_stores import MemoryBucket, MemoryTable
from tests.support.sample_ledger import AT_ONCE, LEDGER, build_image, build_tally_key, with_chart
from tests.support.stream_events import build_raw_record

CHART = build_tally_key("Download", "chart", 1, "2026-11", "1")
ALIVE = build_tally_key("Download", "alive", 1, "1")
"""Counted in the same batches, but rolled up by the schedule."""


def downloads(shard: str, *numbers: int, song: str = "1") -> Batch:
    at = "2026-11-01T00:00:00.000000Z"
    images = {n: build_image("Download", {"song": song, "id": str(n), "at": at}) for n in numbers}
    records = [build_raw_record(number, (None, new)) for number, new in images.items()]
    return Batch.parse({"shardId": shard, "Records": records})


def project(
    table: Any, batch: Batch, ledger: Ledger | None = None, seconds: float = 60.0
) -> str | None:
    ledger = ledger or with_chart(AT_ONCE)
    projector = Projector(table, MemoryBucket(), ledger, dirty_shards=1)
    return projector.project(batch, RetryBudget(lambda: seconds, reserve=20))


def total(table: MemoryTable, name: str) -> int:
    return reader.read_rolled_up_amount(table, name).items


def test_total_and_ranking_stand_right_after_the_batch() -> None:
    table = MemoryTable()
    assert project(table, downloads("a", 1, 2)) is None
    assert project(table, downloads("b", 3)) is None
    assert total(table, CHART) == reader.read_live_amount(table, CHART).items == 3
    item = table.items[total_items.build_total_key(CHART)]
    assert item["GSI3PK"] == {"S": "t#Download.chart#1#2026-11"}
    assert total_items.build_total_key(ALIVE) not in table.items


def test_a_batch_that_comes_again_finds_a_total_that_was_left_behind() -> None:
    table = MemoryTable()
    project(table, downloads("a", 1), LEDGER)
    assert total_items.build_total_key(CHART) not in table.items
    project(table, downloads("a", 1))
    assert total(table, CHART) == 1


def test_marks_stay_for_the_scheduled_rollup() -> None:
    table = MemoryTable()
    project(table, downloads("a", 1))
    assert "GSI2PK" in table.items[slots.build_slot_key(CHART, "a")]


class Noting(MemoryTable):
    """Notes what is done to it."""

    def __init__(self) -> None:
        super().__init__()
        self.done: list[tuple[str, str]] = []

    def get(self, key: ItemKey, *, consistent: bool = False, **_: Any) -> Any:
        self.done.append(("get", key.pk))
        return super().get(key, consistent=consistent)

    def query_pages(self, query: Any) -> Any:
        self.done.append(("query", query.partition))
        return super().query_pages(query)

    def put(self, item: Image, **named: Any) -> Any:
        self.done.append(("put", item["PK"]["S"]))
        return super().put(item, **named)

    def update(self, key: ItemKey, update: str, **named: Any) -> Any:
        self.done.append(("update", key.pk))
        return super().update(key, update, **named)


def test_what_it_costs_a_batch_and_costs_nobody_else() -> None:
    asked, unasked = Noting(), Noting()
    for table in (asked, unasked):  # the shard is not new, and no verification is under way
        apply_update(table, set_flag_update("a", NO_RUN, utc_now()))
        table.done.clear()
    project(asked, downloads("a", 1, 2, 3))
    project(unasked, downloads("a", 1, 2, 3), LEDGER)
    more = [("get", CHART), ("query", CHART), ("put", CHART)]
    assert asked.done == [*unasked.done, *more]
    assert {what for what, _ in unasked.done} == {"update"}


class Failing(MemoryTable):
    """Refuses to do one thing, or a bug does."""

    def __init__(self, what: str, error: Exception) -> None:
        super().__init__()
        self._what, self._error = what, error

    def get(self, key: ItemKey, *, consistent: bool = False, **_: Any) -> Any:
        self._fail("get")
        return super().get(key, consistent=consistent)

    def query_pages(self, query: Any) -> Any:
        self._fail("pages")
        return super().query_pages(query)

    def put(self, item: Image, **named: Any) -> Any:
        self._fail("put")
        return super().put(item, **named)

    def _fail(self, what: str) -> None:
        if what == self._what:
            raise self._error


@pytest.mark.parametrize("error", [ThrottledError("slow down"), ValueError("a bug")])
@pytest.mark.parametrize("what", ["get", "pages", "put"])
def test_a_rollup_that_fails_does_not_fail_the_batch(
    what: str, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    table = Failing(what, error)
    apply_update(table, set_flag_update("a", NO_RUN, utc_now()))  # the shard is not new
    with caplog.at_level(logging.WARNING):
        assert project(table, downloads("a", 1, 2)) is None
    assert [each.__dict__["tally"] for each in caplog.records] == [CHART]
    assert total_items.build_total_key(CHART) not in table.items
    slot = table.items[slots.build_slot_key(CHART, "a")]
    assert (slot["items"], "GSI2PK" in slot) == ({"N": "2"}, True)
