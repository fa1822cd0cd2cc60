"""The figures of a `Book`: votes, totals, series and rankings."""

from __future__ import annotations

import datetime as dt

from daicho.book.tools import BookTools
from daicho.declare.queries import RankingQuery, TotalQuery
from daicho.declare.results import Chart, Score, Series, VoteResult
from daicho.errors import Invalid
from daicho.plan.calendar import CalendarUnit
from daicho.query.paging import MAX_PAGE_ITEMS
from daicho.write.idempotency import HEADER


class FigureBook:
    """What a `Book` reads and counts of figures."""

    _tools: BookTools
    _votes = 0

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
