"""A table for work that has a time limit: no request begins when the time is used up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from daicho.errors import UnavailableError
from daicho.runtime.retry import RetryBudget
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.protocols import GetsItems, PutsItems, QueriesItems, UpdatesItems
from daicho.storage.requests import ItemPage, Query, Write


class OutOfTimeError(UnavailableError):
    """The time is used up. Tallies that are not done keep their marks."""


class TallyTable(GetsItems, QueriesItems, PutsItems, UpdatesItems, Protocol):
    """The operations of the table that a rollup needs."""

    def transact(self, writes: Sequence[Write]) -> None:
        """Do all writes or none."""


class LimitedTable:
    """A table with a time limit. ``request_count``: the requests that were begun.

    Every method raises `OutOfTimeError` instead of beginning a request too late.
    """

    def __init__(self, store: TallyTable, retry_budget: RetryBudget) -> None:
        self.store = store
        self.request_count = 0
        self._retry_budget = retry_budget

    def get(self, key: ItemKey, *, consistent: bool = False) -> Image | None:
        """See `GetsItems.get`."""
        self._begin()
        return self.store.get(key, consistent=consistent)

    def query_pages(self, query: Query) -> Iterator[ItemPage]:
        """See `QueriesItems.query_pages`. Each page is a request."""
        self._begin()
        for page in self.store.query_pages(query):
            yield page
            if page.last is None:
                return
            self._begin()

    def put(self, item: Image, **arguments: Any) -> Image | None:
        """See `PutsItems.put`."""
        self._begin()
        return self.store.put(item, **arguments)

    def update(self, key: ItemKey, update: str, **arguments: Any) -> Image | None:
        """See `UpdatesItems.update`."""
        self._begin()
        return self.store.update(key, update, **arguments)

    def transact(self, writes: Sequence[Write]) -> None:
        """See `Table.transact`."""
        self._begin()
        self.store.transact(writes)

    def _begin(self) -> None:
        if not self._retry_budget.has_time_left:
            raise OutOfTimeError("its time is up; the next rollup does the rest")
        self.request_count += 1
