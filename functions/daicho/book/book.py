"""The Book: one tenant's items and figures; what domains read and write through.

A declaration that is called is a question (`daicho.declare.queries`), and the Book answers it.
Every key starts with the Book's tenant, so nothing that a caller says reaches another's data.
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

        ``max_age``: as it was at most so many seconds ago will do. What many requests need of one
        item is then read once in that time by each function instance.
        """
        image = self._read(one, consistent=consistent, max_age=max_age)
        return None if image is None else self._splits.read_item(one.entity, image)

    def get(self, one: ItemRef[E], *, max_age: float = 0.0) -> E:
        """One item; as it was at most ``max_age`` seconds ago (see `find`).

        Raises:
            NotFound: there is none, or it has expired.
        """
        found = self.find(one, max_age=max_age)
        if found is None:
            raise NotFound(f"no {display_name(one)}")
        return found

    def view(self, one: ItemRef[E], *names: str) -> View:
        """Some fields of an item: less is sent, though as many units are read.

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
        """As `page`, of each item some fields: from the index alone where its rows copy them."""
        check_limit(limit)
        images, end = self._pages.read_page(many, limit, cursor, names)
        return ViewPage([build_view(many[0].entity, image, names) for image in images], end)

    def pages(self, many: Sequence[ListQuery[E]], *, limit: int = MAX_PAGE_ITEMS) -> list[Page[E]]:
        """The first page of each of these lists, read at once."""
        if not many:
            return []
        with ThreadPoolExecutor(min(self._pages.at_once, len(many))) as pool:
            return list(pool.map(lambda each: self.page(each, limit=limit), many))

    def find_all(self, ones: Sequence[ItemRef[E]], *, consistent: bool = False) -> list[E | None]:
        """Items in the order that they are asked for; None for each that does not exist.

        Raises:
            UnprocessedError: DynamoDB did not get round to all of them in time.
        """
        keys = [self._places.resolve_key(one) for one in ones]
        asked = [key for key in keys if key is not None]
        found = self._table.batch_get(asked, consistent=consistent).require_all()
        now = self._now()
        whole = self._history.read_contents(found)
        known: dict[ItemKey, Image | None] = {**whole, **self._places.pending}
        images = [None if key is None else known.get(key) for key in keys]
        return [
            None if image is None or is_expired(image, now) else to_item(one.entity, image)
            for one, image in zip(ones, images, strict=True)
        ]

    def create(self, item: E) -> E:
        """Store a new item.

        What has expired and is not deleted yet is as good as absent, unless the entity is
        archived: then the key is free when the archive has the expired item, which would be lost.

        Raises:
            Conflict: an item of that key stands there.
            ReferenceNotFound: no item to copy a field from, or that must exist.
            Invalid: the item cannot be stored, or nothing could be derived from it.
        """
        return self._choose_writer(type(item)).create(item)

    def create_once(self, item: E, *fields: str) -> E:
        """Store a new item under a key that stands for one request: a repeat gives the item.

        Raises:
            Conflict: an expired item waits there for the archive (see `create`).
            Invalid: the item there differs in one of ``fields``: it was another request's; or as
                in `create`.
            ReferenceNotFound: no item to copy a field from, or that must exist.
        """
        try:
            return self._writer.create(item)
        except Conflict:
            names = list_key_fields(self._ledger.current_generation(type(item).__name__).plan)
            known = self.find(ItemRef(type(item), tuple(getattr(item, name) for name in names)))
            if known is None:
                raise
            differing = [name for name in fields if getattr(known, name) != getattr(item, name)]
            if differing:
                detail = f"it was used with another {differing[0]} before"
                raise Invalid(detail, field=HEADER) from None
            return known

    def put(self, item: E, *, if_match: int | None = None, if_none_match: bool = False) -> E:
        """Create or replace an item, in one write that reads nothing before.

        A replaced item keeps what is set once: its creation, expiry, frozen and copied fields. It
        is derived from them too, so the write holds only where they are as they were checked; a
        second write follows where an item with others stood there.

        Raises:
            PreconditionFailed: not of version ``if_match``, or not any more, because the SDK asked
                again when an answer was lost; or, under ``if_none_match``, there.
            Conflict: an expired item waits there for the archive (see `create`).
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

        The item is read first, since what results must be derivable as a whole, and written only
        if nobody was faster; without ``if_match`` a lost race is run again. A change of the field
        that its key ``moves`` by moves it: removed here and put there, in one transaction.

        Raises:
            NotFound: there is none, or it has expired.
            PreconditionFailed: not of version ``if_match``.
            Conflict: an item stands where it would move.
            Raced: others were faster, again and again.
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

        What is set once stays as it is, unless the item was deleted: then all of it comes back.

        Raises:
            NotFound: there is no such version.
            PreconditionFailed: the item is not of version ``if_match``.
            Invalid: what was admitted then is not any more.
            Raced: others were faster, again and again.
        """
        return self._writer.restore(one, if_match=if_match)

    def forget(self, one: ItemRef[E]) -> ForgetVersionsResult:
        """Remove the versions of an item but the newest, oldest first, a thousand at most.

        Of a deleted item all are removed.

        Raises:
            NotFound: there never was such an item.
        """
        return self._history.forget_versions(one)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Write several items at once, all or none: what is written until the block's end.

        It ends with an error and writes nothing, or at its end everything, at twice the units of
        single writes. What is read through the transaction is still so then. In a request under
        an Idempotency-Key the whole request is one, and this a part of it.

        Raises:
            Raced: others changed one of the items; nothing was done. The API tries it again.
            Invalid: over 100 items, or 4 MB.
        """
        with self._writer.transaction() as transaction:
            yield transaction

    def once(self, request: IdempotentRequest, answer: Callable[[], StoredAnswer]) -> StoredAnswer:
        """Answer a request, or give the answer that it was given before.

        All that ``answer`` writes is one transaction, with the record of the request. If it
        raises, nothing was done, and nothing is remembered.

        Raises:
            Invalid: the key was used for another request, or in `transaction`.
            Raced: as in `transaction`; or the same request is being done at this moment.
        """
        known = self._find_answer(request)
        if known is not None:
            return known
        try:
            with self._writer.transaction() as transaction:
                given = answer()
                transaction.record = request.build_record(self.tenant, given, self._clock())
        except UnavailableError:
            known = self._find_answer(request)  # it may have been done, and only its answer lost
            if known is None:
                raise
            return known
        return given

    @property
    def has_no_writes(self) -> bool:
        """Whether nothing was written through it, so that all may be tried again."""
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
