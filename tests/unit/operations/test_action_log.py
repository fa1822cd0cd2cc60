"""The log of actions: nothing is done without an entry, and each result is recorded."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from daicho.errors import Conflict, UnavailableError
from daicho.operations.action_log import MAX_DETAIL_CHARACTERS, STARTED, ActionLog
from daicho.storage.table import Table
from daicho.testing.aws.memory_dynamodb import MemoryDynamoDB

NOW = dt.datetime(2026, 11, 24, tzinfo=dt.UTC)


@pytest.fixture
def log() -> ActionLog:
    dynamo: Any = MemoryDynamoDB(lambda: NOW)
    return ActionLog(Table(dynamo, "daicho"), lambda: NOW)


def list_details(log: ActionLog) -> list[str]:
    return [each["detail"] for each in log.list_page(None, 10)[0]]


def test_the_entry_exists_while_the_work_is_done(log: ActionLog) -> None:
    def work() -> int:
        assert list_details(log) == [STARTED]
        return 7

    assert log.run("olga", "start", "x", work, lambda number: f"of {number}") == 7
    assert list_details(log) == ["of 7"]


@pytest.mark.parametrize(
    ("error", "detail"),
    [
        (Conflict("it changed"), "refused: it changed"),
        (UnavailableError("gone"), "failed: UnavailableError"),
        (ZeroDivisionError("secret"), "failed: ZeroDivisionError"),
        (Conflict("x" * 5_000), f"refused: {'x' * 5_000}"[:MAX_DETAIL_CHARACTERS]),
    ],
)
def test_a_failure_is_recorded_and_raised(log: ActionLog, error: Exception, detail: str) -> None:
    def work() -> None:
        raise error

    with pytest.raises(type(error)):
        log.run("olga", "start", "x", work)
    assert list_details(log) == [detail]


def test_nothing_is_done_without_an_entry() -> None:
    class Silent:
        def put(self, *_: Any, **__: Any) -> None:
            raise UnavailableError("gone")

    table: Any = Silent()
    done: list[int] = []
    with pytest.raises(UnavailableError):
        ActionLog(table, lambda: NOW).run("olga", "start", "x", lambda: done.append(1))
    assert done == []


def test_pages_join_without_a_gap(log: ActionLog) -> None:
    for number in range(7):
        log.run("olga", "start", str(number), lambda: None)
    seen: list[str] = []
    cursor: str | None = None
    while True:
        items, cursor = log.list_page(cursor, 3)
        seen += [each["id"] for each in items]
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == 7
    assert seen == sorted(seen, reverse=True)
