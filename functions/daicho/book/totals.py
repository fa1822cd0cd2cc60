"""Votes, totals and rankings of one tenant, for a `Book`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace

from daicho.declare.entity import Entity
from daicho.declare.queries import RankingQuery, TotalQuery
from daicho.declare.results import Chart, Score, Series, VoteResult
from daicho.derive.contributions import Amount
from daicho.errors import Invalid
from daicho.plan.calendar import CalendarUnit
from daicho.query.access import Access
from daicho.query.figures.series import SeriesReader, parse_bounds
from daicho.query.paging import CursorBinding, CursorPosition, check_limit, resolve_cursor
from daicho.query.totals import TallyGroup, Totals
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage.table import Table
from daicho.tally.reader import read_live_amount
from daicho.write.counter_writer import CounterWriter


@dataclass(frozen=True)
class BookTotals:
    """Reads the totals of one tenant, as rolled up or live, and counts votes."""

    tenant: str
    table: Table
    totals: Totals
    open_counter: Callable[[type[Entity], TallyGroup], CounterWriter]
    access: Access
    parallelism: int

    def add_vote(self, query: TotalQuery) -> VoteResult:
        """See `Book.add`."""
        self.access.check_vote(query)
        group = self.totals.resolve_group(query.entity, query.aggregate, query.within)
        return self.open_counter(query.entity, group).add_vote(group.render_by(query))

    def read_score(self, query: TotalQuery, *, live: bool, ranked: bool) -> Score:
        """See `Book.read`."""
        self.access.check_figure(query)
        group = self.totals.resolve_group(
            query.entity, query.aggregate, query.within, ranked=ranked
        )
        if group.aggregate.series is not None:
            name = f"{group.plan.name}.{query.aggregate}"
            raise Invalid(f"{name} has a series: read it from one time to another", field="from")
        by, amount = group.render_by(query), None
        as_of = self.totals.read_as_of(group, live=live)  # before the figures
        if live and group.counter is not None:
            amount = self.open_counter(query.entity, group).read_live().get(by, Amount())
        elif live:
            amount = read_live_amount(self.table, group.render_tally(by))
        is_ranked = ranked and group.aggregate.ranked
        score = self.totals.read_score(group, by, amount, ranked=is_ranked)
        return replace(score, as_of=as_of, rolled_up=not live)

    def read_series(
        self,
        query: TotalQuery,
        since: dt.datetime | str,
        until: dt.datetime | str,
        step: CalendarUnit | None,
        *,
        live: bool,
    ) -> Series:
        """See `Book.series`."""
        self.access.check_figure(query)
        group = self.totals.resolve_group(query.entity, query.aggregate, query.within)
        bounds = parse_bounds(group.aggregate, since, until)
        as_of = self.totals.read_as_of(group, live=live)  # before the figures
        reader = SeriesReader(self.totals, self.parallelism, group, group.render_by(query))
        series = reader.read(bounds, step, live=live)
        return replace(series, as_of=as_of, rolled_up=not live)

    def read_chart(
        self, query: RankingQuery, *, limit: int, cursor: str | None, live: bool
    ) -> Chart:
        """See `Book.top`."""
        check_limit(limit)
        self.access.check_figure(query)
        group, binding, start = self._resolve_ranking(query, cursor, live=live)
        # Before the scores. The members are always those of the last rollup.
        as_of = self.totals.read_as_of(group, live=False)
        if not live:
            scores, end = self.totals.read_top(group, start, limit)
            amounts = self.totals.read_amounts(group, scores)
        else:
            if group.counter is not None:
                amounts = self.open_counter(query.entity, group).read_live()
            else:
                amounts = self.totals.read_members_live(group)
            scores, end = self.totals.rank_amounts(group, amounts, start, limit)
        scores = self.totals.complete_scores(group, scores, amounts, self.parallelism)
        return Chart(scores, binding.write_cursor(end), as_of, rolled_up=not live)

    def _resolve_ranking(
        self, query: RankingQuery, cursor: str | None, *, live: bool
    ) -> tuple[TallyGroup, CursorBinding, CursorPosition | None]:
        """The tallies of a page, the binding of its cursors, and its first position."""

        def bind(skip_from: int | None) -> tuple[TallyGroup, CursorBinding]:
            group = self.totals.resolve_group(
                query.entity, query.aggregate, query.within, ranked=True, skip_from=skip_from
            )
            order = "live" if live else "top"
            return group, CursorBinding(self.tenant, (order, group.list_rankings[0]))

        name, entity = query.aggregate, query.entity.__name__
        return resolve_cursor(cursor, bind, self.totals.instances, entity, [name])
