"""Pages of lists: reads the images that queries and a cursor select, and the next cursor."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from daicho.declare.queries import ListQuery
from daicho.errors import UnprocessedError
from daicho.plan import Ledger
from daicho.query.collection_reader import CollectionReader, PageBuffer
from daicho.query.index_reader import IndexReader
from daicho.query.key_resolver import KeyResolver
from daicho.query.list_planner import ListPlan, ListPlanner
from daicho.query.paging import CursorBinding, CursorPosition
from daicho.query.related_search import RelatedSearch
from daicho.query.version_history import VersionHistory
from daicho.search.pager import OnlyUnprocessedError, ReadBudget, SearchPager
from daicho.search.posting_lists import END, Bound
from daicho.storage.attributes import Image
from daicho.storage.item_cache import ItemCache
from daicho.storage.table import Table


@dataclass(frozen=True)
class PageReader:
    """Reads pages of one tenant's lists. ``parallelism`` is the number of parallel requests.

    ``item_cache``: a cache that other requests share, if any.
    """

    table: Table
    ledger: Ledger
    tenant: str
    key_resolver: KeyResolver
    history: VersionHistory
    clock: Callable[[], dt.datetime]
    parallelism: int
    item_cache: ItemCache | None = None

    def read_page(
        self,
        queries: Sequence[ListQuery[Any]],
        limit: int,
        cursor: str | None,
        names: Sequence[str] | None = None,
    ) -> tuple[Sequence[Image], str | None]:
        """A page of lists merged in order, and the cursor after it; None only at the end.

        ``names``: the fields that are needed. If the rows copy all of them, no item is read.
        """
        if queries and queries[0].by == "versions":
            return self.history.read_page(queries, limit, cursor)
        now = int(self.clock().timestamp())
        related_search = RelatedSearch(self.table, self.ledger, self.tenant, now, self.item_cache)
        list_plan = self.plan_lists(queries, limit, related_search)
        binding = CursorBinding(self.tenant, list_plan.question)
        start = binding.read_cursor(cursor)
        if list_plan.collections:
            reader = CollectionReader(self.table, now)
            collected, end = reader.read_page(list_plan.collections, start, limit)
            return self.history.read_whole(collected), binding.write_cursor(end)
        images, end = self._read_postings(list_plan, names, start, related_search)
        return images, binding.write_cursor(end)

    def plan_lists(
        self, queries: Sequence[ListQuery[Any]], limit: int, related_search: RelatedSearch
    ) -> ListPlan:
        """The lists that answer queries."""
        planner = ListPlanner(
            self.key_resolver, self.ledger, self.tenant, related_search, related_search.now
        )
        return planner.plan(queries, limit)

    def _read_postings(
        self,
        plan: ListPlan,
        names: Sequence[str] | None,
        start: CursorPosition | None,
        related_search: RelatedSearch,
    ) -> tuple[Sequence[Image], CursorPosition | None]:
        """A page of postings. ``list`` of a position is 1 if its own order is undecided."""
        is_copied, cursor = plan.is_copied(names), plan.build_cursor()
        buffer = PageBuffer(plan.limit)
        if start is not None:
            cursor.skip_to(Bound(start.order, inclusive=start.list == 1))
        entity, now = plan.entity.__name__, related_search.now
        reader = IndexReader(
            self.table, self.ledger, entity, plan.predicates, now, self.parallelism, is_copied
        )
        budget = ReadBudget(units=related_search.units, requests=related_search.requests)
        try:
            page = SearchPager(reader, cursor, plan.limit, buffer.add_image, budget).read_page()
        except OnlyUnprocessedError as error:
            raise UnprocessedError(error.unprocessed) from error
        order, inclusive = page.bound
        end = None if page.bound == END else CursorPosition(order, int(inclusive))
        if is_copied or entity not in self.ledger.pointer_types:
            return page.items, end
        return self.history.read_whole(page.items), end
