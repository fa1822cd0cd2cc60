"""The Book: one tenant's items and figures. Domains read and write through it.

A call of a declaration gives a question (`daicho.declare.queries`), and the Book answers it.
Every key starts with the Book's tenant, so no input of a caller reaches another tenant's data.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from daicho.book.figures import TotalsMixin
from daicho.book.sections import SectionsMixin, SectionTools
from daicho.declare.entity import E
from daicho.declare.queries import ItemRef, ListQuery
from daicho.declare.results import Chart, ForgetVersionsResult, Page
from daicho.declare.stored_objects import list_object_fields
from daicho.errors import Conflict, Invalid, NotFound, UnavailableError
from daicho.items.mapper import to_item
from daicho.items.projection import View, ViewPage, build_view, list_attributes
from daicho.layout.base_item import is_expired
from daicho.plan import Ledger, list_key_fields
from daicho.query.key_resolver import KeyResolver, display_name
from daicho.query.page_reader import PageReader
from daicho.query.paging import MAX_PAGE_ITEMS, check_limit
from daicho.query.totals import Totals
from daicho.runtime.clock import utc_now
from daicho.storage.attributes import Image
from daicho.storage.bucket import Bucket
from daicho.storage.item_cache import ItemCache
from daicho.storage.item_key import ItemKey
from daicho.storage.table import Table
from daicho.write.counter_writer import CounterSettings, CounterWriter
from daicho.write.idempotency import HEADER, IdempotentRequest, StoredAnswer
from daicho.write.item_writer import ItemWriter
from daicho.write.object_writer import ObjectWriter
from daicho.write.transaction import Transaction

__all__ = ["MAX_PAGE_ITEMS", "Book", "Chart", "Page"]


class Book(TotalsMixin, SectionsMixin):
    """One tenant's part of the table. Make one for each request: it remembers what it has read."""

    def __init__(
        self,
        table: Table,
        ledger: Ledger,
        tenant: str,
        *,
        clock: Callable[[], dt.datetime] = utc_now,
        memory: ItemCache | None = None,
        adding: CounterSettings | None = None,
        at_once: int = 8,
        bucket: Callable[[], Bucket] | None = None,
    ) -> None:
        """``memory`` is shared by the books of a process; ``adding`` is for fast counters.

        ``at_once``: requests made in parallel; ``bucket``: of the objects of items.
        """
        self.tenant = tenant
        self._table, self._ledger, self._clock = table, ledger, clock
        self._places = KeyResolver(table, ledger, tenant, clock, memory)
        self._counters = CounterWriter(table, self._places, adding, clock)
        self._writer = ItemWriter(ledger, tenant, self._places, table, clock)
        self._splits = SectionTools.build(table, self._writer, clock, at_once)
        self._objects = ObjectWriter(self._writer, clock, bucket)
        self._history = self._writer.history
        self._pages = PageReader(
            table, ledger, tenant, self._places, self._history, self._now, at_once, memory
        )
        self._figures = Totals(table, ledger, tenant)

    def find(self, one: ItemRef[E], *, consistent: bool = True, max_age: float = 0.0) -> E | None:
        """One item, or None if there is none or it has expired.

        ``max_age``: the item as it was at most so many seconds ago is sufficient. Each function
        instance then reads it once in that time for all requests that need it.
        """
        image = self._read(one, consistent=consistent, max_age=max_age)
        return None if image is None else self._splits.read_item(one.entity, image)

    def get(self, one: ItemRef[E], *, max_age: float = 0.0) -> E:
        """One item; as it was at most ``max_age`` seconds ago (see `find`).

        Raises:
            NotFound: there is none, or it has expired.
        """
        item = self.find(one, max_age=max_age)
        if item is None:
            raise NotFound(f"no {display_name(one)}")
        return item

    def view(self, one: ItemRef[E], *names: str) -> View:
        """Some fields of an item. DynamoDB sends less, but reads as many units.

        Raises:
            NotFound: there is none, or it has expired.
        """
        image = self._read(one, names=list_attributes(names))
        if image is None:
            raise NotFound(f"no {display_name(one)}")
        return build_view(one.entity, image, names)

    def page(
        self, *many: ListQuery[E], limit: int = MAX_PAGE_ITEMS, cursor: str | None = None
    ) -> Page[E]:
        """A page of one list, or of several lists of one entity merged in order, each item once.

        A partition and an edge's ends come by sort key; searches and listings newest first, or by
        the listing's order, highest first; the versions of one item newest first.

        Raises:
            BadCursor: a cursor of another question or tenant.
            Invalid: a limit that is not 1 to 100, or a value that its field does not take.
        """
        check_limit(limit)
        images, end = self._pages.read_page(many, limit, cursor)
        return Page([to_item(many[0].entity, image) for image in images], end)

    def views(
        self,
        *many: ListQuery[E],
        names: Sequence[str],
        limit: int = MAX_PAGE_ITEMS,
        cursor: str | None = None,
    ) -> ViewPage:
        """Like `page`, some fields of each item: from the index alone where its rows copy them."""
        check_limit(limit)
        images, end = self._pages.read_page(many, limit, cursor, names)
        return ViewPage([build_view(many[0].entity, image, names) for image in images], end)

    def pages(self, many: Sequence[ListQuery[E]], *, limit: int = MAX_PAGE_ITEMS) -> list[Page[E]]:
        """The first page of each of these lists, read at once."""
        if not many:
            return []
        with ThreadPoolExecutor(min(self._pages.at_once, len(many))) as pool:
            return list(pool.map(lambda query: self.page(query, limit=limit), many))

    def find_all(self, ones: Sequence[ItemRef[E]], *, consistent: bool = False) -> list[E | None]:
        """Items in the order of ``ones``; None for each that does not exist.

        Raises:
            UnprocessedError: DynamoDB did not process all of them in time.
        """
        keys = [self._places.resolve_key(one) for one in ones]
        table_keys = [key for key in keys if key is not None]
        stored_images = self._table.batch_get(table_keys, consistent=consistent).require_all()
        now = self._now()
        whole = self._history.read_contents(stored_images)
        images_by_key: dict[ItemKey, Image | None] = {**whole, **self._places.pending}
        images = [None if key is None else images_by_key.get(key) for key in keys]
        return [
            None if image is None or is_expired(image, now) else to_item(one.entity, image)
            for one, image in zip(ones, images, strict=True)
        ]

    def create(self, item: E) -> E:
        """Store a new item.

        An expired item that is not deleted yet counts as absent, unless the entity is archived.
        Then the key is free once the archive has the expired item, which would otherwise be lost.

        Raises:
            Conflict: an item with that key exists.
            ReferenceNotFound: no item to copy a field from, or that must exist.
            Invalid: the item cannot be stored, or nothing could be derived from it.
        """
        return self._choose_writer(type(item)).create(item)

    def create_once(self, item: E, *fields: str) -> E:
        """Store a new item under a key that identifies one request: a repeat gives the item.

        Raises:
            Conflict: an expired item with that key waits for the archive (see `create`).
            Invalid: the existing item differs in one of ``fields``: another request created it;
                or as in `create`.
            ReferenceNotFound: no item to copy a field from, or that must exist.
        """
        try:
            return self._writer.create(item)
        except Conflict:
            names = list_key_fields(self._ledger.current_generation(type(item).__name__).plan)
            existing = self.find(ItemRef(type(item), tuple(getattr(item, name) for name in names)))
            if existing is None:
                raise
            differing = [name for name in fields if getattr(existing, name) != getattr(item, name)]
            if differing:
                detail = f"it was used with another {differing[0]} before"
                raise Invalid(detail, field=HEADER) from None
            return existing

    def put(self, item: E, *, if_match: int | None = None, if_none_match: bool = False) -> E:
        """Create or replace an item, in one write that reads nothing before.

        A replaced item keeps the values that are set once: its creation, expiry, frozen and
        copied fields. Derived items depend on them too, so the write succeeds only if they are as
        they were checked. If the existing item has others, a second write follows.

        Raises:
            PreconditionFailed: the item is not of version ``if_match``, or no longer, because the
                SDK repeated the request after an answer was lost; or, with ``if_none_match``, the
                item exists.
            Conflict: an expired item with that key waits for the archive (see `create`).
            ReferenceNotFound: no item to copy a field from, or that must exist.
            Invalid: the item cannot be stored, or nothing could be derived from it.
        """
        return self._choose_writer(type(item)).put(
            item, if_match=if_match, if_none_match=if_none_match
        )

    def change(
        self, one: ItemRef[E], changes: Mapping[str, Any], *, if_match: int | None = None
    ) -> E:
        """Change some fields of an item.

        The item is read first, because the result must be derivable as a whole. It is written
        only if no other writer was faster; without ``if_match`` a lost race is repeated. A change
        of the field that its key ``moves`` by moves the item: one transaction removes it and puts
        it under its new key.

        Raises:
            NotFound: there is none, or it has expired.
            PreconditionFailed: not of version ``if_match``.
            Conflict: an item with the new key exists.
            Raced: other writers were faster, again and again.
            Invalid: an unknown field, a wrong value, a key field or one that is set only once.
        """
        return self._writer.change(one, changes, if_match=if_match)

    def delete(self, one: ItemRef[E], *, if_match: int | None = None) -> None:
        """Remove an item.

        Raises:
            NotFound: there is none, or it has expired.
            PreconditionFailed: not of version ``if_match``.
        """
        removing = (
            self._objects if list_object_fields(one.entity) else self._choose_writer(one.entity)
        )
        removing.delete(one, if_match=if_match)

    def restore(self, one: ItemRef[E], *, if_match: int | None = None) -> E:
        """Write a version of an item (``Article.versions.at("a", version=3)``) as its newest.

        The values that are set once stay as they are, unless the item was deleted. Then all of
        its values are restored.

        Raises:
            NotFound: there is no such version.
            PreconditionFailed: the item is not of version ``if_match``.
            Invalid: a value of the version is no longer admitted.
            Raced: other writers were faster, again and again.
        """
        return self._writer.restore(one, if_match=if_match)

    def forget(self, one: ItemRef[E]) -> ForgetVersionsResult:
        """Remove the versions of an item but the newest, oldest first, a thousand at most.

        All versions of a deleted item are removed.

        Raises:
            NotFound: such an item never existed.
        """
        return self._history.forget_versions(one)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Write several items at once, all or none: all writes until the end of the block.

        If the block raises an error, nothing is written. Otherwise its end writes everything, at
        twice the units of single writes. The items that were read through the transaction are
        unchanged at that time. In a request under an Idempotency-Key the whole request is one
        transaction, and this block is a part of it.

        Raises:
            Raced: others changed one of the items; nothing was written. The API tries it again.
            Invalid: over 100 items, or 4 MB.
        """
        with self._writer.transaction() as transaction:
            yield transaction

    def once(self, request: IdempotentRequest, answer: Callable[[], StoredAnswer]) -> StoredAnswer:
        """Answer a request, or return its stored answer.

        All writes of ``answer`` and the record of the request are one transaction. If it raises,
        nothing is written, and no answer is stored.

        Raises:
            Invalid: the key was used for another request, or in `transaction`.
            Raced: as in `transaction`; or the same request is in progress.
        """
        stored_answer = self._find_answer(request)
        if stored_answer is not None:
            return stored_answer
        try:
            with self._writer.transaction() as transaction:
                given = answer()
                transaction.record = request.build_record(self.tenant, given, self._clock())
        except UnavailableError:
            # The writes may have succeeded, and only the answer of DynamoDB was lost.
            stored_answer = self._find_answer(request)
            if stored_answer is None:
                raise
            return stored_answer
        return given

    @property
    def has_no_writes(self) -> bool:
        """Whether nothing was written through it, so that the request may be tried again."""
        return not self._writer.sender.attempted

    def _read(
        self,
        one: ItemRef[E],
        *,
        consistent: bool = True,
        max_age: float = 0.0,
        names: Sequence[str] = (),
    ) -> Image | None:
        if one.version is not None:
            return self._history.find_version(one)
        key = self._places.resolve_key(one)
        if key is None:
            return None
        if key in self._places.pending:
            return self._places.find_image(key)
        if one.entity.versioned_ == "pointer":
            return self._history.find_newest(one, consistent=consistent)
        if names:
            image = self._table.get_attributes(key, names)
        elif consistent and (max_age or any(s.frozen for s in one.entity.fields_.values())):
            return self._places.find_image(key, max_age)
        else:
            image = self._table.get(key, consistent=consistent)
        return None if image is None or is_expired(image, self._now()) else image

    def _find_answer(self, request: IdempotentRequest) -> StoredAnswer | None:
        record = self._table.get(request.build_key(self.tenant), consistent=True)
        return request.read_answer(record, self._clock())

    def _now(self) -> int:
        return int(self._clock().timestamp())
