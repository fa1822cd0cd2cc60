"""A table with a time limit: each request counts, and none begins too late."""

from __future__ import annotations

import pytest

from daicho.runtime.retry import RetryBudget
from daicho.storage.attributes import ItemKey
from daicho.storage.requests import Put, Query
from daicho.tally.limited_table import LimitedTable, OutOfTimeError
from tests.support.memory_stores import MemoryTable

KEY = ItemKey("a", "b")
ITEM = {"PK": {"S": "a"}, "SK": {"S": "b"}}


def test_every_request_counts_and_each_page_is_one() -> None:
    table = MemoryTable()
    limited = LimitedTable(table, RetryBudget(lambda: 10.0, reserve=1))
    limited.put(ITEM, condition="attribute_not_exists(PK)", values={})
    limited.transact([Put({**ITEM, "SK": {"S": "c"}})])
    limited.update(KEY, "SET n = :n", names={}, values={":n": {"N": "1"}})
    assert limited.get(KEY) == {**ITEM, "n": {"N": "1"}}
    assert limited.request_count == 4
    assert len(list(limited.query_pages(Query("a", limit=1)))) >= 2
    assert limited.request_count >= 6
    assert set(table.items) == {KEY, ItemKey("a", "c")}


def test_no_request_begins_when_the_time_is_up() -> None:
    table, left = MemoryTable(), [10.0]
    table.items[KEY] = ITEM
    table.items[ItemKey("a", "c")] = {**ITEM, "SK": {"S": "c"}}
    limited = LimitedTable(table, RetryBudget(lambda: left[0], reserve=1))
    pages = limited.query_pages(Query("a", limit=1))
    assert next(pages).items == (ITEM,)
    left[0] = 1.0
    for request in (
        lambda: next(pages),
        lambda: limited.get(KEY),
        lambda: limited.put({**ITEM, "SK": {"S": "d"}}),
        lambda: limited.update(KEY, "SET n = :n", values={":n": {"N": "1"}}),
        lambda: limited.transact([Put({**ITEM, "SK": {"S": "d"}})]),
        lambda: list(limited.query_pages(Query("a"))),
    ):
        with pytest.raises(OutOfTimeError):
            request()
    assert limited.request_count == 1
    assert table.items[KEY] == ITEM and len(table.items) == 2
