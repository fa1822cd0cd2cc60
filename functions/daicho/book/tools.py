"""What a `Book` reads and writes with; each tool is imported and created when it is first needed.

Most instances of the API answer a few kinds of requests, and start without the tools of the others.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from daicho.query.key_resolver import KeyResolver
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage.item_cache import ItemCache

if TYPE_CHECKING:
    from daicho.book.item_reader import ItemReader
    from daicho.book.sections import BookSections
    from daicho.book.totals import BookTotals
    from daicho.declare.entity import Entity
    from daicho.declare.queries import ItemRef
    from daicho.plan import Ledger
    from daicho.query.access import Access
    from daicho.query.instance_chooser import InstanceChooser
    from daicho.query.item_objects import ItemObjects
    from daicho.query.page_reader import PageReader
    from daicho.query.version_history import VersionHistory
    from daicho.storage.bucket import Bucket
    from daicho.storage.table import Table
    from daicho.write.cascades import Cascade
    from daicho.write.counter_writer import CounterSettings
    from daicho.write.document_writer import DocumentWriter
    from daicho.write.item_writer import ItemWriter
    from daicho.write.section_staging import SectionStaging
    from daicho.write.section_writer import SectionWriter
    from daicho.write.transaction import Transaction


@dataclass(frozen=True)
class BookTools:
    """The tools of one tenant's `Book`, which share its key resolver and its open transaction.

    A request that only reads creates nothing that writes. ``item_cache``: shared with other
    requests; ``parallelism``: requests made at the same time; ``bucket``: of the objects of items.
    """

    table: Table
    ledger: Ledger
    tenant: str
    clock: Callable[[], dt.datetime]
    item_cache: ItemCache | None
    counter_settings: CounterSettings | None
    parallelism: int
    bucket: Callable[[], Bucket] | None
    access: Access
    upload_seconds: int

    @cached_property
    def key_resolver(self) -> KeyResolver:
        """Computes the keys of items."""
        return KeyResolver(self.table, self.ledger, self.tenant, self.clock, self._item_cache)

    @cached_property
    def instances(self) -> InstanceChooser:
        """Chooses the instances of declarations that answer."""
        from daicho.query.instance_chooser import InstanceChooser

        return InstanceChooser(self.table, self.ledger, self._item_cache)

    @cached_property
    def history(self) -> VersionHistory:
        """Reads and removes versions of items."""
        from daicho.query.version_history import VersionHistory

        return VersionHistory(self.table, self.key_resolver, self._now, self.access)

    @cached_property
    def reader(self) -> ItemReader:
        """Reads single items."""
        from daicho.book.item_reader import ItemReader

        return ItemReader(self.table, self.key_resolver, self.history, self._now, self.access)

    @cached_property
    def pages(self) -> PageReader:
        """Reads pages of lists."""
        from daicho.query.page_reader import PageReader

        tools = (self.instances, self.key_resolver, self.history)
        return PageReader(*tools, self.parallelism, self.item_cache, self.access)

    @cached_property
    def sections(self) -> BookSections:
        """Reads sections of split items."""
        from daicho.book.sections import BookSections

        return BookSections(self.table, self.key_resolver, self.get_transaction, self.access)

    @cached_property
    def totals(self) -> BookTotals:
        """Reads totals and rankings, and counts votes."""
        from daicho.book.totals import BookTotals
        from daicho.write.counter_writer import CounterWriter

        counter = partial(CounterWriter, self.table, self.key_resolver, self.counter_settings)
        tools = (self.tenant, self.table, self.instances, counter)
        return BookTotals(*tools, self.access, self.parallelism)

    @cached_property
    def objects(self) -> ItemObjects:
        """Signs requests for the objects of items."""
        from daicho.query.item_objects import ItemObjects

        return ItemObjects(self.key_resolver, self.bucket, self.access, self.upload_seconds)

    @cached_property
    def writer(self) -> ItemWriter:
        """Writes items."""
        from daicho.write.item_writer import ItemWriter

        tools = (self.key_resolver, self.table, self.clock, self.history, self.access)
        return ItemWriter(*tools)

    def delete_with_objects(self, ref: ItemRef[Any], *, if_match: int | str | None) -> None:
        """Remove an item and its objects."""
        from daicho.write.object_writer import delete_with_objects

        delete_with_objects(self.writer, self.objects, ref, if_match=if_match)

    @cached_property
    def cascade(self) -> Cascade:
        """Deletes items with what refers to them."""
        from daicho.write.cascades import Cascade

        return Cascade(self.writer)

    @cached_property
    def section_writer(self) -> SectionWriter:
        """Writes single sections of split items."""
        from daicho.write.section_writer import SectionWriter

        return SectionWriter(self._section_staging)

    def choose_writer(self, entity: type[Entity]) -> ItemWriter | DocumentWriter:
        """The writer of whole items of an entity."""
        from daicho.write.document_writer import DocumentWriter

        if entity.split_field_ is None:
            return self.writer
        return DocumentWriter(self._section_staging)

    def get_transaction(self) -> Transaction | None:
        """The open transaction. There is none before something is written."""
        writer = self._get_used_writer()
        return None if writer is None else writer.open_transaction

    @property
    def has_attempted_writes(self) -> bool:
        """Whether a request was sent that writes items."""
        writer = self._get_used_writer()
        return writer is not None and bool(writer.sender.attempted)

    @property
    def derived_units(self) -> int:
        """An estimate of the write units of what derives from the items that were written."""
        writer = self._get_used_writer()
        return 0 if writer is None else writer.sender.derived_units

    @cached_property
    def _item_cache(self) -> ItemCache:
        return self.item_cache or ItemCache(self.clock)

    @cached_property
    def _section_staging(self) -> SectionStaging:
        from daicho.write.section_staging import SectionStaging

        return SectionStaging(self.writer, self.parallelism)

    def _get_used_writer(self) -> ItemWriter | None:
        """The writer, if anything has used it."""
        writer: ItemWriter | None = vars(self).get("writer")
        return writer

    def _now(self) -> int:
        """The time in epoch seconds."""
        return int(self.clock().timestamp())
