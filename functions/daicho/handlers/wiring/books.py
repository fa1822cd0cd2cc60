"""The books of the requests of one process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache, lru_cache, partial
from typing import Any

from daicho.book.book import Book
from daicho.declare.domain import find_total_count
from daicho.declare.entity import Entity
from daicho.declare.queries import TotalQuery
from daicho.errors import BeingBuilt
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.plan import Ledger
from daicho.query.access import Access
from daicho.runtime.settings import Settings
from daicho.storage.item_cache import ItemCache
from daicho.storage.table import Table
from daicho.tenants.lifecycle import guard_table
from daicho.write.counter_writer import CounterSettings

MAX_TENANTS = 1_024
"""Of how many tenants a process keeps what is made once for each."""


class Books:
    """Opens the book of each request."""

    def __init__(
        self,
        settings: Settings,
        table: Table,
        once: Table,
        ledger: Ledger,
        item_cache: ItemCache,
        dependencies: Dependencies,
        entities: Iterable[type[Entity]],
    ) -> None:
        """``once``: the table, with a client that repeats nothing."""
        self._bounds, self._ledger = settings.bounds, ledger
        bucket = cache(lambda: dependencies.bucket(settings.object_bucket))
        options: dict[str, Any] = {"item_cache": item_cache, "bucket": bucket}
        options |= {"clock": dependencies.now, "upload_seconds": settings.upload_seconds}
        self._new_book: Callable[..., Book] = partial(Book, **options)

        @lru_cache(maxsize=MAX_TENANTS)  # each request needs them
        def find_counters(tenant: str) -> CounterSettings:
            return CounterSettings(
                guard_table(once, tenant), settings.dirty_shards, dependencies.random
            )

        self._table, self._find_counters = table, find_counters
        self._list_counts = cache(lambda: [*_list_counts(entities)])

    def open(self, access: Access) -> Book:
        """The book of a caller: it reaches the items of one tenant, and keeps to the bounds."""
        tenant = access.tenant
        table = guard_table(self._table, tenant).with_bounds(self._bounds)
        counters = self._find_counters(tenant)
        return self._new_book(table, self._ledger, tenant, access=access, counter_settings=counters)

    def count_items(self, tenant: str) -> int:
        """The items of a tenant, of the entities that count all of theirs, as rolled up.

        Raises:
            StoreError: the table does not answer.
        """
        book, items = self._new_book(guard_table(self._table, tenant), self._ledger, tenant), 0
        for query in self._list_counts():
            with suppress(BeingBuilt):
                items += book.read(query).items
        return items


def _list_counts(entities: Iterable[type[Entity]]) -> Iterator[TotalQuery]:
    for entity in entities:
        if (count := find_total_count(entity)) is not None:
            yield TotalQuery(entity, count, (), ())
