"""Pages of lists: reads the images that list queries and a page cursor select.

Two things are called a cursor: the text that a client sends back for the next page (`cursor`), and
a `PostingCursor`, which goes through posting lists (`posting_cursor`).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import Any

from daicho.declare.queries import ListQuery
from daicho.errors import UnprocessedError
from daicho.plan import Ledger
from daicho.plan.instances import list_replacing_generations
from daicho.query.access import SYSTEM, Access
from daicho.query.collection_reader import CollectionReader, PageBuffer
from daicho.query.index_reader import IndexReader
from daicho.query.instance_chooser import InstanceChooser
from daicho.query.key_resolver import KeyResolver
from daicho.query.list_planner import ListPlan, ListPlanner
from daicho.query.paging import CursorBinding, CursorPosition, resolve_cursor
from daicho.query.related_search import RelatedSearch
from daicho.query.version_history import VersionHistory
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.search.pager import OnlyUnprocessedError, ReadBudget, SearchPager
from daicho.search.posting_lists import END, Bound, invert_order, restore_order
from daicho.storage.attributes import Image
from daicho.storage.item_cache import ItemCache
from daicho.storage.table import Table


@dataclass(frozen=True)
class PageReader:
    """Reads pages of one tenant's lists. ``parallelism`` is the number of parallel requests.

    ``item_cache``: a cache that is shared with other requests, if any.
    """

    table: Table
    ledger: Ledger
    tenant: str
    instances: InstanceChooser
    key_resolver: KeyResolver
    history: VersionHistory
    clock: Callable[[], dt.datetime]
    parallelism: int
    item_cache: ItemCache | None = None
    access: Access = SYSTEM

    def read_page(
        self,
        queries: Sequence[ListQuery[Any]],
        limit: int,
        cursor: str | None,
        names: Sequence[str] | None = None,
    ) -> tuple[Sequence[Image], str | None]:
        """A page of the merged lists, in order, and the cursor of the next page.

        The cursor is None only at the end: a page may have fewer than ``limit`` items, or none, and
        a cursor. ``names``: the fields that the caller needs, all if None. If the index rows copy
        all of them, no item is read.

        Raises:
            BadCursor: the cursor is of other queries, or of another tenant.
            BeingBuilt: no listing or search that answers includes all items yet.
            UnprocessedError: DynamoDB did not process the first item of the page.
            Forbidden: the caller may not read all items of a list.
        """
        self.access.check_lists(queries)
        if queries and queries[0].by == "versions":
            return self.history.read_page(queries, limit, cursor)
        now = int(self.clock().timestamp())
        related_search = RelatedSearch(self.table, self.ledger, self.tenant, now, self.item_cache)
        list_plan, binding, start = self._plan_page(queries, limit, cursor, related_search)
        if list_plan.collections:
            reader = CollectionReader(self.table, now)
            listed_images, end = reader.read_page(
                list_plan.collections, start, limit, forward=not list_plan.is_reversed
            )
            return self.history.read_whole(listed_images), binding.write_cursor(end)
        images, end = self._read_postings(list_plan, names, start, related_search)
        return images, binding.write_cursor(end)

    def plan_lists(
        self,
        queries: Sequence[ListQuery[Any]],
        limit: int,
        related_search: RelatedSearch,
        *,
        skip_from: int | None = None,
    ) -> ListPlan:
        """Choose the lists that answer the queries; ``skip_from``: see `ListPlanner`."""
        planner = ListPlanner(
            self.key_resolver,
            self.ledger,
            self.instances,
            self.tenant,
            related_search,
            related_search.now,
            skip_from,
        )
        return planner.plan(queries, limit)

    def _plan_page(
        self,
        queries: Sequence[ListQuery[Any]],
        limit: int,
        cursor: str | None,
        related_search: RelatedSearch,
    ) -> tuple[ListPlan, CursorBinding, CursorPosition | None]:
        """The lists of a page, the binding of its cursors, and its first position."""

        def bind(skip_from: int | None) -> tuple[ListPlan, CursorBinding]:
            list_plan = self.plan_lists(queries, limit, related_search, skip_from=skip_from)
            return list_plan, CursorBinding(self.tenant, list_plan.query_identity)

        def list_replacing(list_plan: ListPlan) -> list[int]:
            plan = self.ledger.current_generation(list_plan.entity.__name__).plan
            return list_replacing_generations(plan, (query.name for query in queries))

        def refresh(list_plan: ListPlan) -> None:
            self.instances.forget_state(list_plan.entity.__name__)

        return resolve_cursor(cursor, bind, list_replacing, refresh)

    def _read_postings(
        self,
        list_plan: ListPlan,
        names: Sequence[str] | None,
        start: CursorPosition | None,
        related_search: RelatedSearch,
    ) -> tuple[Sequence[Image], CursorPosition | None]:
        """A page of posting lists, and the position of the next page.

        These lists are merged, so ``CursorPosition.list`` has another use here: 1 if the next page
        starts with the rows at ``order``, 0 if it starts below them.
        """
        is_copied, posting_cursor = list_plan.is_copied(names), list_plan.build_cursor()
        page_buffer = PageBuffer(list_plan.limit)
        if start is not None:
            order = invert_order(start.order) if list_plan.is_reversed else start.order
            posting_cursor.skip_to(Bound(order, inclusive=start.list == 1))
        entity, now = list_plan.entity.__name__, related_search.now
        reader = IndexReader(
            self.table,
            self.ledger,
            entity,
            list_plan.predicates,
            now,
            self.parallelism,
            is_copied,
            list_plan.is_reversed,
        )
        budget = ReadBudget(units=related_search.units, requests=related_search.requests)
        pager = SearchPager(reader, posting_cursor, list_plan.limit, page_buffer.add_image, budget)
        try:
            page = pager.read_page()
        except OnlyUnprocessedError as error:
            raise UnprocessedError(error.unprocessed) from error
        end = None
        if page.bound != END:
            order, inclusive = page.bound
            if list_plan.is_reversed:
                order = restore_order(order)
            end = CursorPosition(order, int(inclusive))
        if is_copied or entity not in self.ledger.pointer_types:
            return page.items, end
        # The base item of an entity versioned by pointer has the key only.
        return self.history.read_whole(page.items), end
