"""Votes, totals and rankings of one tenant, for a `Book`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import replace

from daicho.declare.entity import Entity
from daicho.declare.queries import RankingQuery, TotalQuery
from daicho.declare.results import Chart, Score, Series, VoteResult
from daicho.derive.contributions import Amount
from daicho.errors import Invalid
from daicho.plan.calendar import CalendarUnit
from daicho.query.access import Access
from daicho.query.figures.series import SeriesReader, parse_bounds
from daicho.query.instance_chooser import InstanceChooser
from daicho.query.paging import CursorBinding, CursorPosition, check_limit, resolve_cursor
from daicho.query.totals import TallyGroup, Totals, resolve_group
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage.capacity import LIVE_UNITS
from daicho.storage.table import Table
from daicho.write.counter_writer import CounterWriter


@dataclass(frozen=True)
class BookTotals:
    """Reads the totals of one tenant, as rolled up or live, and counts votes."""

    tenant: str
    table: Table
    instances: InstanceChooser
    open_counter: Callable[[type[Entity], TallyGroup], CounterWriter]
    access: Access
    parallelism: int

    def add_vote(self, query: TotalQuery) -> VoteResult:
        """See `Book.add`."""
        self.access.check_vote(query)
        group = resolve_group(self.instances, self.tenant, query)
        return self.open_counter(query.entity, group).add_vote(group.render_by(query))

    def read_score(self, query: TotalQuery, *, live: bool, ranked: bool) -> Score:
        """See `Book.read`."""
        self.access.check_figure(query)
        group = resolve_group(self.instances, self.tenant, query, ranked=ranked)
        if group.aggregate.series is not None:
            name = f"{group.plan.name}.{query.aggregate}"
            raise Invalid(f"{name} has a series: read it from one time to another", field="from")
        by, amount, totals = group.render_by(query), None, self._open_totals(group)
        rolled_up = totals.read_as_of(live=False) if live else None  # before the figures
        time, is_uncertain = totals.read_as_of(live=live)
        if live and group.counter is not None:
            amounts = self.open_counter(query.entity, group).read_live()
            amount = None if amounts is None else amounts.get(by, Amount())
        elif live:
            amount = self.table.budget.try_live(lambda: totals.read_live_amount(by))
        if amount is None and rolled_up is not None:  # it exceeds the budget of the request
            time, is_uncertain = rolled_up
        is_ranked = ranked and group.aggregate.ranked
        score = totals.read_score(by, amount, ranked=is_ranked)
        return replace(score, as_of=time, rolled_up=amount is None, uncertain=is_uncertain)

    def read_scores(self, queries: Sequence[TotalQuery], *, live: bool) -> list[Score]:
        """See `Book.read_all`."""
        if live:
            units = LIVE_UNITS * len(queries)
            scores = self.table.budget.try_live(
                lambda: self._read_scores(queries, live=True), units
            )
            if scores is not None and not any(score.rolled_up for score in scores):
                return scores
        return self._read_scores(queries, live=False)

    def _read_scores(self, queries: Sequence[TotalQuery], *, live: bool) -> list[Score]:
        return [self.read_score(query, live=live, ranked=False) for query in queries]

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
        group = resolve_group(self.instances, self.tenant, query)
        bounds, totals = parse_bounds(group.aggregate, since, until), self._open_totals(group)
        time, is_uncertain = totals.read_as_of(live=live)  # before the figures
        reader = SeriesReader(totals, group.render_by(query), self.parallelism)
        series = reader.read(bounds, step, live=live)
        return replace(series, as_of=time, rolled_up=not live, uncertain=is_uncertain)

    def read_chart(
        self, query: RankingQuery, *, limit: int, cursor: str | None, live: bool
    ) -> Chart:
        """See `Book.top`."""
        check_limit(limit)
        self.access.check_figure(query)
        group, binding, start = self._resolve_ranking(query, cursor, live=live)
        # Before the scores. The members are always those of the last rollup.
        totals = self._open_totals(group)
        time, is_uncertain = totals.read_as_of(live=False)
        amounts = None
        if live and group.counter is not None:
            amounts = self.open_counter(query.entity, group).read_live()
        elif live:
            amounts = totals.read_members_live()
        is_rolled_up = amounts is None  # or it exceeds the budget of the request
        if amounts is None:
            scores, end = totals.read_top(start, limit)
            amounts = totals.read_amounts(scores)
        else:
            scores, end = totals.rank_amounts(amounts, start, limit)
        scores = totals.complete_scores(scores, amounts, self.parallelism)
        cursor = binding.write_cursor(end)
        return Chart(scores, cursor, time, is_rolled_up, totals.unreadable, is_uncertain)

    def _resolve_ranking(
        self, query: RankingQuery, cursor: str | None, *, live: bool
    ) -> tuple[TallyGroup, CursorBinding, CursorPosition | None]:
        """The tallies of a page, the binding of its cursors, and its first position."""

        def bind(skip_from: int | None) -> tuple[TallyGroup, CursorBinding]:
            group = resolve_group(
                self.instances, self.tenant, query, ranked=True, skip_from=skip_from
            )
            order = "live" if live else "top"
            identity = (order, group.list_rankings[0])
            return group, CursorBinding(self.tenant, identity, self.access.lineage)

        name, entity = query.aggregate, query.entity.__name__
        return resolve_cursor(cursor, bind, self.instances, entity, [name])

    def _open_totals(self, group: TallyGroup) -> Totals:
        return Totals(self.table, self.instances.item_cache, group)
