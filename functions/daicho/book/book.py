"""The Book: one tenant's items and figures. Domains read and write through it.

A call of a declaration gives a question (`daicho.declare.queries`), and the Book answers it.
Every key starts with the Book's tenant, so no input of a caller reaches another tenant's data.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeVar

from daicho.book.tools import BookTools
from daicho.declare.entity import E, Entity
from daicho.declare.queries import ItemRef, ListQuery, RankingQuery, SectionRef, TotalQuery
from daicho.declare.results import (
    Chart,
    ForgetVersionsResult,
    Page,
    Score,
    SectionValue,
    Series,
    VoteResult,
)
from daicho.declare.rules.caller import Caller
from daicho.declare.stored_objects import SignedRequest
from daicho.errors import Conflict, Invalid, KeyReused, Refusal, UnavailableError
from daicho.items.mapper import to_item
from daicho.items.projection import View, ViewPage, build_view, list_attributes
from daicho.items.readable_items import ReadableItems, check_image, read_each
from daicho.plan import Ledger
from daicho.plan.calendar import CalendarUnit
from daicho.query.access import SYSTEM, Access
from daicho.query.key_resolver import build_not_found, build_section_not_found
from daicho.query.paging import MAX_PAGE_ITEMS, check_limit
from daicho.runtime.clock import utc_now
from daicho.runtime.settings import UPLOAD_SECONDS
from daicho.storage.attributes import Image
from daicho.storage.bucket import Bucket
from daicho.storage.item_cache import ItemCache
from daicho.storage.table import Table
from daicho.write.counter_writer import CounterSettings
from daicho.write.idempotency import HEADER, IdempotentRequest, StoredAnswer
from daicho.write.transaction import Transaction

T = TypeVar("T")


@dataclass(frozen=True)
class StoredItems(Collection[E]):
    """Items of one entity: their images, and the objects, which are made when one is needed."""

    entity: type[E]
    images: Sequence[Image]
    ledger: Ledger

    def read_each(self, read: Callable[[Image], T]) -> ReadableItems[T]:
        """What ``read`` returns of each image; items that it cannot read are left out."""
        return read_each(self.entity, self.ledger, self.images, read)

    @cached_property
    def _objects(self) -> list[E]:
        return [to_item(self.entity, image, self.ledger) for image in self.images]

    def __len__(self) -> int:
        return len(self.images)

    def __iter__(self) -> Iterator[E]:
        return iter(self._objects)

    def __contains__(self, item: object) -> bool:
        return item in self._objects


class Book:
    """One tenant's part of the table. Make one for each request: it remembers what it has read."""

    def __init__(  # noqa: PLR0913  # each has a default that commands and tests use
        self,
        table: Table,
        ledger: Ledger,
        tenant: str,
        *,
        clock: Callable[[], dt.datetime] = utc_now,
        item_cache: ItemCache | None = None,
        counter_settings: CounterSettings | None = None,
        parallelism: int = 8,
        bucket: Callable[[], Bucket] | None = None,
        access: Access = SYSTEM,
        upload_seconds: int = UPLOAD_SECONDS,
    ) -> None:
        """``item_cache`` is shared by the books of a process.

        ``parallelism``: requests made at the same time; ``bucket``: of the objects of items,
        whose upload URLs are valid for ``upload_seconds``; ``access``: of the caller of a request;
        everything by default.
        """
        self.tenant, self._ledger = tenant, ledger
        self._tools = BookTools(
            *(table, ledger, tenant, clock, item_cache, counter_settings, parallelism, bucket),
            *(access, upload_seconds),
        )
        self._table, self._clock, self._access = table, clock, access
        self._votes = 0
        self.start_cascade: Callable[[Image], str] | None = None
        """Starts the job that continues the deletion of an item; its id. None: there are none."""

    @property
    def caller(self) -> Caller | None:
        """Who sends the request; None in jobs, commands and loads."""
        return self._access.caller

    def may_read_all(self, entity: type[Entity]) -> bool:
        """Whether the caller may read the items of every owner."""
        return self._access.may_read_all(entity)

    @contextmanager
    def as_system(self) -> Iterator[None]:
        """Do not apply the rules of `Domain.access` until the end of the block."""
        with self._access.suspend():
            yield

    def find(self, ref: ItemRef[E], *, consistent: bool = True, max_age: float = 0.0) -> E | None:
        """One item, or None if there is none or it has expired.

        ``max_age``: the item as it was at most so many seconds ago is sufficient. Each function
        instance then reads it once in that time for all requests that need it.
        """
        image = self._tools.reader.find_image(ref, consistent=consistent, max_age=max_age)
        if image is None:
            return None
        check_image(ref.entity, self._ledger, image)
        if ref.entity.split_field_ is None:
            return to_item(ref.entity, image, self._ledger)
        return self._tools.sections.read_item(ref.entity, image)

    def get(self, ref: ItemRef[E], *, max_age: float = 0.0) -> E:
        """One item; as it was at most ``max_age`` seconds ago (see `find`).

        Raises:
            NotFound: there is none, or it has expired.
        """
        if (item := self.find(ref, max_age=max_age)) is None:
            raise build_not_found(ref)
        return item

    def view(self, ref: ItemRef[E], *names: str) -> View:
        """Some fields of an item. DynamoDB sends less, but reads as many units.

        Raises:
            NotFound: there is none, or it has expired.
        """
        image = self._tools.reader.find_image(ref, names=list_attributes(ref.entity, names))
        if image is None:
            raise build_not_found(ref)
        return build_view(ref.entity, image, names, self._ledger)

    def page(
        self, *queries: ListQuery[E], limit: int = MAX_PAGE_ITEMS, cursor: str | None = None
    ) -> Page[E]:
        """A page of one list, or of several lists of one entity merged in order, each item once.

        A partition and an edge's ends come by sort key; searches and listings newest first, or by
        the listing's order, highest first; the versions of one item newest first. A query may limit
        its list or reverse it; all queries of a page have one direction.

        Raises:
            BadCursor: a cursor of another question or tenant.
            Invalid: a limit that is not 1 to 100, or a value that its field does not take.
        """
        stored, end = self.read_stored_page(*queries, limit=limit, cursor=cursor)
        entity, ledger = stored.entity, self._ledger
        read = stored.read_each(lambda image: to_item(entity, image, ledger))
        return Page(list(read.values), end, read.unreadable)

    def read_stored_page(
        self, *queries: ListQuery[E], limit: int, cursor: str | None
    ) -> tuple[StoredItems[E], str | None]:
        """A page as it is stored, for answers that need no objects, and its cursor; see `page`."""
        check_limit(limit)
        images, end = self._tools.pages.read_page(queries, limit, cursor)
        return StoredItems(queries[0].entity, images, self._ledger), end

    def views(
        self,
        *queries: ListQuery[E],
        names: Sequence[str],
        limit: int = MAX_PAGE_ITEMS,
        cursor: str | None = None,
    ) -> ViewPage:
        """Like `page`, some fields of each item: from the index alone where its rows copy them."""
        check_limit(limit)
        images, end = self._tools.pages.read_page(queries, limit, cursor, names)
        entity, ledger = queries[0].entity, self._ledger
        stored = StoredItems(entity, images, ledger)
        read = stored.read_each(lambda image: build_view(entity, image, names, ledger))
        return ViewPage(list(read.values), end, read.unreadable)

    def pages(
        self, queries: Sequence[ListQuery[E]], *, limit: int = MAX_PAGE_ITEMS
    ) -> list[Page[E]]:
        """The first page of each of these lists, read at once."""
        if not queries:
            return []
        with ThreadPoolExecutor(min(self._tools.parallelism, len(queries))) as pool:
            return list(pool.map(lambda query: self.page(query, limit=limit), queries))

    def find_all(self, refs: Sequence[ItemRef[E]], *, consistent: bool = False) -> list[E | None]:
        """Items in the order of ``refs``; None for each that does not exist or cannot be read.

        Raises:
            UnprocessedError: DynamoDB did not process all of them in time.
        """
        return self._tools.reader.find_all(refs, consistent=consistent)

    def create(self, item: E) -> E:
        """Store a new item.

        An expired item that is not deleted yet counts as absent, unless the entity is archived.
        Then the key is free once the archive has the expired item, which would otherwise be lost.

        Raises:
            Conflict: an item with that key exists.
            ReferenceNotFound: no item to copy a field from, or that must exist.
            Invalid: the item cannot be stored, or nothing could be derived from it.
        """
        return self._tools.choose_writer(type(item)).create(item)

    def create_once(self, item: E, *fields: str) -> E:
        """Store a new item under a key that identifies one request: a repeat gives the item.

        Raises:
            Conflict: an expired item with that key waits for the archive (see `create`).
            KeyReused: the existing item differs in one of ``fields``: another request created it.
            Invalid: as in `create`.
            ReferenceNotFound: no item to copy a field from, or that must exist.
        """
        try:
            return self._tools.writer.create(item)
        except Conflict:
            names = self._ledger.current_generation(type(item).__name__).plan.key.fields
            existing = self.find(ItemRef(type(item), tuple(getattr(item, name) for name in names)))
            if existing is None:
                raise
            differing = [name for name in fields if getattr(existing, name) != getattr(item, name)]
            if differing:
                detail = f"it was used with another {differing[0]} before"
                raise KeyReused(detail, field=HEADER) from None
            return existing

    def put(self, item: E, *, if_match: int | str | None = None, if_none_match: bool = False) -> E:
        """Create or replace an item, in one write that reads nothing before.

        A replaced item keeps the values that are set once: its creation, frozen and
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
        return self._tools.choose_writer(type(item)).put(
            item, if_match=if_match, if_none_match=if_none_match
        )

    def change(
        self, ref: ItemRef[E], changes: Mapping[str, Any], *, if_match: int | str | None = None
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
        return self._tools.writer.change(ref, changes, if_match=if_match)

    def delete(self, ref: ItemRef[E], *, if_match: int | str | None = None) -> None:
        """Remove an item.

        Raises:
            NotFound: there is none, or it has expired.
            PreconditionFailed: not of version ``if_match``.
            ForbiddenChange: a rule keeps it.
            Referred: an item refers to it (``ref(on_delete="refuse")``).
            Unfinished: more items refer to it than are deleted at once (``on_delete="cascade"``).
        """
        if ref.entity.cascading_:
            delete_last = partial(self._delete, ref, if_match)
            self._tools.cascade.delete_item(ref, if_match, self.delete, delete_last)
        else:
            self._delete(ref, if_match)

    @property
    def cascaded(self) -> int:
        """How many items the last deletion has deleted because they referred to its item."""
        return self._tools.cascade.deleted

    def _delete(self, ref: ItemRef[Any], if_match: int | str | None) -> None:
        if ref.entity.object_fields_:
            self._tools.delete_with_objects(ref, if_match=if_match)
        else:
            self._tools.choose_writer(ref.entity).delete(ref, if_match=if_match)

    def restore(self, ref: ItemRef[E], *, if_match: int | str | None = None) -> E:
        """Write a version of an item (``Article.versions.at("a", version=3)``) as its newest.

        The values that are set once stay as they are, unless the item was deleted. Then all of
        its values are restored.

        Raises:
            NotFound: there is no such version.
            PreconditionFailed: the item is not of version ``if_match``.
            Invalid: a value of the version is no longer admitted.
            Raced: other writers were faster, again and again.
        """
        return self._tools.writer.restore(ref, if_match=if_match)

    def forget(self, ref: ItemRef[E]) -> ForgetVersionsResult:
        """Remove the versions of an item but the newest, oldest first, a thousand at most.

        All versions of a deleted item are removed.

        Raises:
            NotFound: such an item never existed.
        """
        return self._tools.history.forget_versions(ref)

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
        with self._tools.writer.transaction() as transaction:
            yield transaction

    def once(self, request: IdempotentRequest, answer: Callable[[], StoredAnswer]) -> StoredAnswer:
        """Answer a request, or return its stored answer.

        All writes of ``answer`` and the record of the request are one transaction. If it raises,
        nothing is written, and no answer is stored.

        Raises:
            KeyReused: the key was used for another request.
            Invalid: as in `transaction`.
            Raced: as in `transaction`; or the same request is in progress.
        """
        now = self._clock
        record = request.find_record(self._table, self.tenant, now())
        if record.answer is not None:
            return record.answer
        try:
            with self.transaction() as transaction:
                first_answer = answer()
                transaction.idempotency_record = request.build_writes(record, first_answer, now())
        except UnavailableError:
            # The writes may have succeeded, and only the answer of DynamoDB was lost.
            record = request.find_record(self._table, self.tenant, now())
            if record.answer is None:
                raise
            return record.answer
        return first_answer

    def find_section(self, ref: SectionRef[Any]) -> SectionValue | None:
        """One section (``Document.split(id, section="summary")``), or None.

        Raises:
            NotFound: there is no such item.
        """
        return self._tools.sections.find_section(ref)

    def section(self, ref: SectionRef[Any]) -> SectionValue:
        """One section.

        Raises:
            NotFound: there is no such item, or it has no such section.
        """
        if (section := self.find_section(ref)) is None:
            raise build_section_not_found(ref)
        return section

    def put_section(
        self, ref: SectionRef[Any], value: Any, *, if_match: int | None = None
    ) -> SectionValue:
        """Create or replace one section, and no other.

        The item gets its next version. Two concurrent changes of the item, or of two of its
        sections, happen one after the other, and neither is lost. A new section comes last.

        Raises:
            NotFound: there is no such item.
            PreconditionFailed: the section is not of version ``if_match``.
            Invalid: it cannot be stored, or there is no room for it.
            Raced: other writers change the item all the time.
        """
        return self._tools.section_writer.put(ref, value, if_match=if_match)

    def remove_section(self, ref: SectionRef[Any], *, if_match: int | None = None) -> int:
        """Remove one section; returns the item's new version.

        Raises:
            NotFound: there is no such item, or it has no such section.
            PreconditionFailed, Raced: as in `put_section`.
        """
        return self._tools.section_writer.remove(ref, if_match=if_match)

    def add(self, query: TotalQuery) -> VoteResult:
        """Count one vote of a fast counter's group (``Ballot.likes(poll, candidate)``).

        It may be ``unknown`` whether it was counted. The caller must learn this.

        Raises:
            NotFound: the item that the counter counts within does not exist, if it was looked up.
            Invalid: a value that its field does not take.
            ThrottledError: it was not counted: slot after slot was busy.
            UnavailableError: it was not counted: the table could not be reached.
        """
        if self._tools.get_transaction() is not None:
            raise Invalid("a fast counter cannot tell a repeat", field=HEADER)
        result = self._tools.totals.add_vote(query)
        self._votes += 1  # a repeated request would count it twice
        return result

    def read(self, query: TotalQuery, *, live: bool = False, ranked: bool = False) -> Score:
        """A group's total, as rolled up last; if ``live``, all that was counted up to now.

        ``ranked``: with its rank, which is None for zero items and where it is ``beyond`` 10,000.
        """
        return self._tools.totals.read_score(query, live=live, ranked=ranked)

    def read_all(self, queries: Sequence[TotalQuery], *, live: bool = False) -> list[Score]:
        """Several figures, as in `read`, in the same order.

        If a request may not read so much live, all of them are answered as rolled up last.
        """
        return self._tools.totals.read_scores(queries, live=live)

    def series(
        self,
        query: TotalQuery,
        since: dt.datetime | str,
        until: dt.datetime | str,
        *,
        step: CalendarUnit | None = None,
        live: bool = False,
    ) -> Series:
        """A group's figures from ``since`` to before ``until``, for each ``step``, or for all.

        An empty bucket has the count 0. A bound is an instant, or text: ``2026-11-21`` for the
        beginning of a day in the declared zone, a local time, or one with an offset. It is an edge
        of a declared bucket. ``live``: all that was counted up to now, of at most 32 stored items.

        Raises:
            Invalid: it names ``from``, ``to``, ``step`` or ``live``. The range is reversed or too
                long, a bound is within a bucket, a local time does not exist or occurs twice, a
                step has no whole buckets, or the aggregate has no series.
        """
        return self._tools.totals.read_series(query, since, until, step, live=live)

    def top(
        self,
        query: RankingQuery,
        *,
        limit: int = MAX_PAGE_ITEMS,
        cursor: str | None = None,
        live: bool = False,
    ) -> Chart:
        """The groups of a ranking, highest first, ties by id.

        ``live`` sums up to 100 members as they are. For an aggregate, a member that was never
        rolled up is not among them. A caller that has the ids of the members should therefore
        `read` each of them live.

        Raises:
            BadCursor: a cursor of another question or tenant.
            Invalid: a limit that is not 1 to 100, or ``live`` for more than 100 members.
        """
        return self._tools.totals.read_chart(query, limit=limit, cursor=cursor, live=live)

    def sign_upload(self, item: Entity, field: str) -> SignedRequest:
        """Sign a request that puts the object of an item: valid once, for 15 minutes."""
        return self._tools.objects.sign_upload(item, field)

    def sign_download(self, item: Entity, field: str) -> SignedRequest:
        """Sign a request that gets the object of an item: valid for an hour."""
        return self._tools.objects.sign_download(item, field)

    @property
    def consumed(self) -> tuple[float, float]:
        """Read and write units, if its table counts them.

        With one unit for each vote, and an estimate of what derives from its writes.
        """
        budget = self._table.budget
        return budget.read, budget.written + self._votes + self._tools.derived_units

    def refuse_creations(self, refusal: Refusal) -> None:
        """Raise ``refusal`` for each item that would be created from now on."""
        self._table.budget.creation_refusal = refusal

    @property
    def has_no_writes(self) -> bool:
        """Whether nothing was written through it, so that the request may be tried again."""
        return not self._votes and not self._tools.has_attempted_writes
