"""The books of the requests of one process."""

from __future__ import annotations

from functools import cached_property

from daicho.book.book import Book
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.plan import Ledger
from daicho.query.access import Access
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.settings import Settings
from daicho.storage.bucket import Bucket
from daicho.storage.item_cache import ItemCache
from daicho.storage.table import Table
from daicho.tenants.lifecycle import guard_table
from daicho.write.counter_writer import CounterSettings


@dataclass(frozen=True)
class Books:
    """Opens the book of each request. ``once``: the table, with a client that repeats nothing."""

    settings: Settings
    table: Table
    once: Table
    ledger: Ledger
    item_cache: ItemCache
    dependencies: Dependencies

    @cached_property
    def bucket(self) -> Bucket:
        """The bucket with the objects of items."""
        return self.dependencies.bucket(self.settings.object_bucket)

    def open(self, access: Access) -> Book:
        """The book of a caller: it reaches the items of one tenant, and keeps to the bounds."""
        settings, random = self.settings, self.dependencies.random
        table = guard_table(self.table, access.tenant).with_bounds(settings.bounds)
        once = guard_table(self.once, access.tenant)
        return Book(
            *(table, self.ledger, access.tenant),
            clock=self.dependencies.now,
            item_cache=self.item_cache,
            counter_settings=CounterSettings(once, settings.dirty_shards, random),
            bucket=lambda: self.bucket,
            access=access,
            upload_seconds=settings.upload_seconds,
        )
