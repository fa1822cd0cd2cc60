"""Pages of lists: reads the images that list queries and a page cursor select.

Two things are called a cursor: the text that a client sends back for the next page (`cursor`), and
a `PostingCursor`, which goes through posting lists (`posting_cursor`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daicho.declare.queries import ListQuery
from daicho.errors import UnprocessedError
from daicho.query.access import SYSTEM, Access
from daicho.query.collection_reader import CollectionReader, PageBuffer
from daicho.query.index_reader import IndexReader
from daicho.query.instance_chooser import InstanceChooser
from daicho.query.key_resolver import KeyResolver
from daicho.query.list_planner import ListPlan, plan_lists
from daicho.query.paging import CursorBinding, CursorPosition, resolve_cursor
from daicho.query.related_search import RelatedSearch
from daicho.query.version_history import VersionHistory
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.search.pager import UNITS, OnlyUnprocessedError, ReadBudget, SearchPager
from daicho.search.posting_lists import END, Bound, invert_order, restore_order
from daicho.storage.attributes import Image
from daicho.storage.item_cache import ItemCache


@dataclass(frozen=True)
class PageReader:
    """Reads pages of one tenant's lists. ``parallelism`` is the number of parallel requests.

    ``item_cache``: a cache that is shared with other requests, if any.
    """

    instances: InstanceChooser
    key_resolver: KeyResolver
    history: VersionHistory
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
        resolver = self.key_resolver
        now = int(resolver.clock().timestamp())
        related_search = RelatedSearch(
            resolver.table, resolver.ledger, resolver.tenant, now, self.item_cache
        )
        list_plan, binding, start = self._plan_page(queries, limit, cursor, related_search)
        if list_plan.collections:
            forward, sources = not list_plan.is_reversed, list_plan.collections
            reader = CollectionReader(resolver.table, now, sources, start, limit, forward)
            listed_images, end = reader.read_page()
            return self.history.read_whole(listed_images), binding.write_cursor(end)
        images, end = self._read_postings(list_plan, names, start, related_search)
        return images, binding.write_cursor(end)

    def _plan_page(
        self,
        queries: Sequence[ListQuery[Any]],
        limit: int,
        cursor: str | None,
        related_search: RelatedSearch,
    ) -> tuple[ListPlan, CursorBinding, CursorPosition | None]:
        """The lists of a page, the binding of its cursors, and its first position."""
        if not queries:
            raise TypeError("a page needs at least one list")

        def bind(skip_from: int | None) -> tuple[ListPlan, CursorBinding]:
            tools = (self.key_resolver, self.instances, related_search)
            list_plan = plan_lists(*tools, queries, limit, skip_from)
            scope = (self.key_resolver.tenant, list_plan.query_identity, self.access.lineage)
            return list_plan, CursorBinding(*scope)

        entity, names = queries[0].entity.__name__, [query.name for query in queries]
        return resolve_cursor(cursor, bind, self.instances, entity, names)

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
        entity = list_plan.entity.__name__
        reader = IndexReader(
            related_search.table,
            related_search.ledger,
            entity,
            list_plan.predicates,
            related_search.now,
            self.parallelism,
            is_copied,
            list_plan.is_reversed,
        )
        most = min(UNITS, related_search.table.budget.bounds.read_units / 2)
        budget = ReadBudget(most=most, units=related_search.units, requests=related_search.requests)
        pager = SearchPager(reader, posting_cursor, list_plan.limit, page_buffer.add_image, budget)
        try:
            page = pager.read_page()
        except OnlyUnprocessedError as error:
            related_search.table.budget.count_items(consistent=False)  # or has it no units left?
            raise UnprocessedError(error.unprocessed) from error
        end = None
        if page.bound != END:
            order, inclusive = page.bound
            if list_plan.is_reversed:
                order = restore_order(order)
            end = CursorPosition(order, int(inclusive))
        if is_copied or entity not in related_search.ledger.pointer_types:
            return page.items, end
        # The base item of an entity versioned by pointer has the key only.
        return self.history.read_whole(page.items), end
