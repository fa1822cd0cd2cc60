"""Writes that transactions of others get in the way of."""

from __future__ import annotations

import datetime as dt
from typing import Any, cast

import pytest

from daicho.errors import (
    ContendedError,
    Raced,
    ThrottledError,
    TransactionFailedError,
    UnansweredError,
)
from daicho.runtime.retry import RetryBudget
from daicho.storage.attributes import ItemKey
from daicho.storage.item_cache import ItemCache
from daicho.storage.requests import Delete, Put
from daicho.storage.table import Table
from daicho.write.sender import Sender
from tests.support.table_books import NOON

ITEM = {"PK": {"S": "a"}, "SK": {"S": "b"}}
KEY = ItemKey("a", "b")


class Store:
    """A table that answers as it is told to, and remembers what it was asked."""

    def __init__(self, *answers: Exception | None) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, Any]] = []

    def __getattr__(self, name: str) -> Any:
        def asked(*given: Any, **named: Any) -> None:
            self.asked.append((name, given))
            answer = self.answers.pop(0) if self.answers else None
            if answer is not None:
                raise answer

        return asked


@pytest.fixture(autouse=True)
def in_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only pauses take time, and nobody waits for them."""
    now = 0.0

    def pause(seconds: float) -> None:
        nonlocal now
        now += seconds

    def of(seconds: float) -> RetryBudget:
        until = now + seconds
        return RetryBudget(lambda: until - now, reserve=0, sleep=pause)

    monkeypatch.setattr(RetryBudget, "for_seconds", of)


def sender(store: Store) -> Sender:
    now = NOON + dt.timedelta(seconds=1)
    memory = ItemCache(lambda: now)
    memory.get(KEY, 10, lambda: ITEM)
    return Sender(cast(Table, store), memory)


def test_it_is_sent_again_until_the_other_is_through() -> None:
    store = Store(ContendedError("x"), ContendedError("x"))
    sent = sender(store)
    sent.send_all([Put(ITEM), Delete(KEY)])
    assert (len(store.asked), sent.attempted) == (3, 1)
    store = Store(*[ContendedError("x")] * 1_000)
    sent = sender(store)
    with pytest.raises(Raced):
        sent.send_all([Put(ITEM)])
    assert sent.attempted == 0


@pytest.mark.parametrize(
    ("error", "raised", "sent"),
    [
        (TransactionFailedError("x", {0: ITEM}), TransactionFailedError, 0),
        (ThrottledError("x"), ThrottledError, 0),
        (UnansweredError("x"), UnansweredError, 1),
    ],
)
def test_what_may_have_been_done_is_known(
    error: Exception, raised: type[Exception], sent: int
) -> None:
    found = sender(Store(error))
    with pytest.raises(raised) as failed:
        found.send_all([Put(ITEM)])
    assert found.attempted == sent
    if isinstance(failed.value, TransactionFailedError):
        assert failed.value.refused == {0: ITEM}
    # Whatever became of it, what was known of the item is known no more.
    assert found.item_cache.get(KEY, 10, lambda: None) is None
