"""Pages of lists: from questions and a cursor to images and the cursor that goes on."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from daicho.declare.queries import Many
from daicho.errors import UnprocessedError
from daicho.items.projection import inherited
from daicho.plan import Ledger
from daicho.query.collection_reader import Reader, Shown
from daicho.query.index_reader import IndexReader, Listed
from daicho.query.key_resolver import Places
from daicho.query.list_planner import AskedLists, Lists
from daicho.query.paging import Binding, Position
from daicho.query.related_search import Reach
from daicho.query.version_history import History
from daicho.search.pager import Budget, OnlyUnprocessedError, Walk
from daicho.search.posting_lists import END, Bound
from daicho.storage.attributes import Image
from daicho.storage.item_cache import Memory
from daicho.storage.table import Table


@dataclass(frozen=True)
class Pages:
    """Reads pages of one tenant's lists. ``at_once`` are requests in parallel.

    ``memory``: one that is shared with other requests, if any.
    """

    table: Table
    ledger: Ledger
    tenant: str
    places: Places
    history: History
    now: Callable[[], int]
    at_once: int
    memory: Memory | None = None

    def page(
        self,
        many: Sequence[Many[Any]],
        limit: int,
        cursor: str | None,
        names: Sequence[str] | None = None,
    ) -> tuple[Sequence[Image], str | None]:
        """A page of lists merged in order, and the cursor behind it; None only at the end.

        ``names``: fields that will do. Where the rows copy all of them, no item is read.
        """
        if many and many[0].by == "versions":
            return self.history.page(many, limit, cursor)
        now = self.now()
        reach = Reach(self.table, self.ledger, self.tenant, now, self.memory)
        asked = self.asked(many, limit, reach)
        binding = Binding(self.tenant, asked.question)
        start = binding.read(cursor)
        found: Sequence[Image]
        if asked.direct:
            found, end = Reader(self.table, now).direct(asked.direct, start, limit)
            return self.history.whole(found), binding.write(end)
        budget = Budget(units=reach.units, requests=reach.requests)
        copied = _copy(asked, names)
        found, end = self._walked(asked, start, budget, now, copied)
        return found if copied else self.history.whole(found), binding.write(end)

    def asked(self, many: Sequence[Many[Any]], limit: int, reach: Reach) -> AskedLists:
        """The lists that answer questions."""
        now = dt.datetime.fromtimestamp(self.now(), dt.UTC)
        return Lists(self.places, self.ledger, self.tenant, reach, now).asked(many, limit)

    def _walked(
        self,
        asked: AskedLists,
        start: Position | None,
        budget: Budget,
        now: int,
        copied: bool,
    ) -> tuple[Sequence[Image], Position | None]:
        """A page of postings; a position's ``list`` says whether its own order is undecided."""
        stream, shown = asked.stream(), Shown(asked.limit)
        if start is not None:
            stream.leap(Bound(start.order, inclusive=start.list == 1))
        entity = asked.entity.__name__
        reader = IndexReader(
            self.table, self.ledger, entity, asked.asked, now, self.at_once, copied
        )
        try:
            walked = Walk(reader, stream, asked.limit, shown.take, budget).page()
        except OnlyUnprocessedError as error:
            raise UnprocessedError(error.left) from error
        order, inclusive = walked.bound
        end = None if walked.bound == END else Position(order, int(inclusive))
        return walked.items, end


def _copy(asked: AskedLists, names: Sequence[str] | None) -> bool:
    """Whether the rows of all lists bring along what is wanted; None is everything."""
    entity = asked.entity
    wanted = {*entity.fields_, *inherited(entity)} if names is None else set(names)
    return all(
        isinstance(each, Listed) and wanted <= set(each.listing.copies) for each in asked.asked
    )
