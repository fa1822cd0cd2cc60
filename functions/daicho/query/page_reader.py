"""Pages of lists: answers questions and a cursor with images and the next cursor."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from daicho.declare.queries import ListQuery
from daicho.errors import UnprocessedError
from daicho.items.projection import list_inherited_names
from daicho.plan import Ledger
from daicho.query.collection_reader import CollectionReader, PageBuffer
from daicho.query.index_reader import IndexReader, ListingPredicate
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
    """Reads pages of one tenant's lists. ``at_once`` is the number of parallel requests.

    ``memory``: a cache that other requests share, if any.
    """

    table: Table
    ledger: Ledger
    tenant: str
    places: KeyResolver
    history: VersionHistory
    now: Callable[[], int]
    at_once: int
    memory: ItemCache | None = None

    def read_page(
        self,
        many: Sequence[ListQuery[Any]],
        limit: int,
        cursor: str | None,
        names: Sequence[str] | None = None,
    ) -> tuple[Sequence[Image], str | None]:
        """A page of lists merged in order, and the cursor after it; None only at the end.

        ``names``: the fields that are needed. If the rows copy all of them, no item is read.
        """
        if many and many[0].by == "versions":
            return self.history.read_page(many, limit, cursor)
        now = self.now()
        reach = RelatedSearch(self.table, self.ledger, self.tenant, now, self.memory)
        list_plan = self.plan_lists(many, limit, reach)
        binding = CursorBinding(self.tenant, list_plan.question)
        start = binding.read_cursor(cursor)
        images: Sequence[Image]
        if list_plan.direct:
            images, end = CollectionReader(self.table, now).read_page(
                list_plan.direct, start, limit
            )
            return self.history.read_whole(images), binding.write_cursor(end)
        budget = ReadBudget(units=reach.units, requests=reach.requests)
        copied = _is_copied(list_plan, names)
        images, end = self._read_search_page(list_plan, start, budget, now, copied)
        return images if copied else self.history.read_whole(images), binding.write_cursor(end)

    def plan_lists(
        self, many: Sequence[ListQuery[Any]], limit: int, reach: RelatedSearch
    ) -> ListPlan:
        """The lists that answer questions."""
        now = dt.datetime.fromtimestamp(self.now(), dt.UTC)
        return ListPlanner(self.places, self.ledger, self.tenant, reach, now).plan(many, limit)

    def _read_search_page(
        self,
        plan: ListPlan,
        start: CursorPosition | None,
        budget: ReadBudget,
        now: int,
        copied: bool,
    ) -> tuple[Sequence[Image], CursorPosition | None]:
        """A page of postings. ``list`` of a position is 1 if its own order is undecided."""
        stream, shown = plan.build_cursor(), PageBuffer(plan.limit)
        if start is not None:
            stream.skip_to(Bound(start.order, inclusive=start.list == 1))
        entity = plan.entity.__name__
        reader = IndexReader(
            self.table, self.ledger, entity, plan.predicates, now, self.at_once, copied
        )
        try:
            walked = SearchPager(reader, stream, plan.limit, shown.add_image, budget).read_page()
        except OnlyUnprocessedError as error:
            raise UnprocessedError(error.left) from error
        order, inclusive = walked.bound
        end = None if walked.bound == END else CursorPosition(order, int(inclusive))
        return walked.items, end


def _is_copied(plan: ListPlan, names: Sequence[str] | None) -> bool:
    """Whether the rows of all lists copy the wanted fields; None means all fields."""
    entity = plan.entity
    wanted = {*entity.fields_, *list_inherited_names(entity)} if names is None else set(names)
    return all(
        isinstance(predicate, ListingPredicate) and wanted <= set(predicate.listing.copies)
        for predicate in plan.predicates
    )
