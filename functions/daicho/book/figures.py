"""Figures and votes: the part of the `Book` with which domains read and cast them."""

from __future__ import annotations

from daicho.declare.queries import RankingQuery, TotalQuery
from daicho.declare.results import Chart, Score, VoteResult
from daicho.derive.contributions import Amount
from daicho.errors import Invalid
from daicho.query.paging import MAX_PAGE_ITEMS, CursorBinding, CursorPosition, check_limit
from daicho.query.totals import Totals
from daicho.storage.table import Table
from daicho.tally.reader import read_live_amount
from daicho.write.counter_writer import CounterWriter
from daicho.write.idempotency import HEADER
from daicho.write.item_writer import ItemWriter


class TotalsMixin:
    """The methods of a `Book` for figures and votes."""

    tenant: str
    _table: Table
    _figures: Totals
    _counters: CounterWriter
    _writer: ItemWriter

    def add(self, figure: TotalQuery) -> VoteResult:
        """Count one vote of a fast counter's group (``Ballot.likes(poll, candidate)``).

        It may be ``unknown`` whether it was counted. The caller must learn this.

        Raises:
            NotFound: the item that the counter counts within does not exist, if it was looked up.
            Invalid: a value that its field does not take.
            ThrottledError: it was not counted: slot after slot was busy.
            UnavailableError: it was not counted: the table could not be reached.
        """
        if self._writer.open is not None:
            raise Invalid("a fast counter cannot tell a repeat", field=HEADER)
        group = self._figures.resolve_group(figure.entity, figure.aggregate, figure.within)
        counted = self._counters.add_vote(figure.entity, group, group.render_by(figure))
        self._writer.sender.attempted += 1  # a repeated request would count it twice
        return counted

    def read(self, figure: TotalQuery, *, live: bool = False, ranked: bool = False) -> Score:
        """A group's tally, as rolled up last; if ``live``, all that was counted up to now.

        ``ranked``: with its rank, which is None for zero items and where it is ``beyond`` 10,000.
        """
        group = self._figures.resolve_group(figure.entity, figure.aggregate, figure.within)
        by, amount = group.render_by(figure), None
        if live and group.counter is not None:
            amount = self._counters.read_live(figure.entity, group).get(by, Amount())
        elif live:
            amount = read_live_amount(self._table, group.render_tally(by))
        return self._figures.read_score(group, by, amount, ranked=ranked and group.aggregate.ranked)

    def top(
        self,
        ranking: RankingQuery,
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
        check_limit(limit)
        group = self._figures.resolve_group(ranking.entity, ranking.aggregate, ranking.within)
        partitions = group.list_rankings
        binding = CursorBinding(self.tenant, ("live" if live else "top", partitions[0]))
        start: CursorPosition | None = binding.read_cursor(cursor)
        if not live:
            scores, end = self._figures.read_top(group, start, limit)
        else:
            if group.counter is not None:
                amounts = self._counters.read_live(ranking.entity, group)
            else:
                amounts = self._figures.read_members_live(group)
            scores, end = self._figures.rank_amounts(amounts, start, limit)
        return Chart(scores, binding.write_cursor(end))
