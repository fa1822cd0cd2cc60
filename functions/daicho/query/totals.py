"""Reads figures and rankings: totals from the last roll-up, or the live sums of the slots."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field, replace
from decimal import Decimal
from heapq import merge
from itertools import islice
from typing import Any

from daicho.declare.queries import RankingQuery, TotalQuery
from daicho.declare.results import FieldFigures, Score, UnreadableItem
from daicho.declare.rules.declared_places import list_declared_places
from daicho.derive.contributions import Amount
from daicho.errors import Invalid, UnreadableError
from daicho.items.arguments import check_key_length, render_parts
from daicho.layout import item_keys
from daicho.layout.base_item import NO_VALUE
from daicho.plan import AggregatePlan, CounterPlan, EntityPlan, Part
from daicho.query.figures.field_figures import Extremes, build_figures, read_extremes
from daicho.query.instance_chooser import InstanceChooser
from daicho.query.paging import CursorPosition
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image
from daicho.storage.capacity import LIVE_UNITS
from daicho.storage.item_cache import ItemCache
from daicho.storage.requests import Query
from daicho.storage.scales import pad_decimal
from daicho.storage.table import Table
from daicho.tally import slots, total_items
from daicho.tally.rankings import build_ranking_key
from daicho.tally.reader import read_live_amount, read_rolled_up_amount
from daicho.tally.watermark import AsOf, read_as_of

MAX_RANKS = 10_000
"""Ranks up to this number are counted. A larger rank is reported as beyond this number."""

MISPLACED = "its total is at another place of the ranking than its value"
MAX_LIVE_GROUPS = 100
"""Members of a ranking that are summed live."""

logger = logging.getLogger(__name__)
INDEX = "GSI3"
ORDER = f"{INDEX}SK"


@dataclass(frozen=True)
class TallyGroup:
    """The tallies of a query: an aggregate within some values, as key text.

    ``counter``: the fast counter that the totals belong to, if any. ``places``: behind the point
    of its totals, as the summed field declares them; ``places_by_field``: of all fields.
    """

    tenant: str
    plan: EntityPlan
    aggregate: AggregatePlan
    within: tuple[str, ...]
    counter: CounterPlan | None = None
    places: int = 0
    places_by_field: Mapping[str, int] = field(default_factory=dict)

    @property
    def list_rankings(self) -> tuple[str, ...]:
        """The partitions of GSI3 with the ranking of its members: one, or one for each shard.

        Raises:
            Invalid: names the value that makes their keys too long.
        """
        partitions = item_keys.list_ranking_partitions(
            self.tenant, self.plan, self.aggregate, self.within
        )
        name = _name_last_field(self.aggregate.within, self.aggregate.name)
        return tuple(
            check_key_length(name, partition, keys.check_partition) for partition in partitions
        )

    def render_by(self, figure: TotalQuery) -> tuple[str, ...]:
        """The member of a figure, as key text.

        Raises:
            Invalid: names the value that its field does not accept, or that is too long.
        """
        by = render_parts(figure.entity, self.plan, self.aggregate.by, figure.by)
        parts = (*self.aggregate.within, *self.aggregate.by)
        check_key_length(
            _name_last_field(parts, figure.aggregate), self.render_tally(by), keys.check_partition
        )
        return by

    def render_tally(self, by: tuple[str, ...]) -> str:
        """The partition of one member's slots and total."""
        return item_keys.render_tally_partition(
            self.tenant, self.plan, self.aggregate, self.within, by
        )


def resolve_group(
    instances: InstanceChooser,
    tenant: str,
    query: TotalQuery | RankingQuery,
    *,
    ranked: bool = False,
    skip_from: int | None = None,
) -> TallyGroup:
    """The tallies of a declaration within the values of a query.

    ``ranked``: of an instance that has a ranking. ``skip_from``: rather of the instance that
    retires than of one of this generation or later, because a cursor may be of it.

    Raises:
        Invalid: names the value that its field does not accept.
        BeingBuilt: no instance of the aggregate includes all items yet.
    """
    entity, name = query.entity, query.aggregate
    current = instances.ledger.current_generation(entity.__name__).plan
    counter = next(
        (declaration for declaration in current.counters if declaration.name == name), None
    )
    aggregate = (
        instances.choose_aggregate(current, name, ranked=ranked, skip_from=skip_from)
        if counter is None
        else counter.tally
    )
    texts = render_parts(entity, current, aggregate.within, query.within)
    declared = list_declared_places(entity)
    places = {name: each.places for name, each in declared.items()}
    own = places.get(aggregate.field or "", 0)
    return TallyGroup(tenant, current, aggregate, texts, counter, own, places)


@dataclass(frozen=True)
class Totals:
    """Reads the tallies of a group. ``item_cache``: of the function instance.

    ``unreadable``: the rows of its ranking that were left out.
    """

    table: Table
    item_cache: ItemCache
    group: TallyGroup
    unreadable: list[UnreadableItem] = field(default_factory=list)

    def read_as_of(self, *, live: bool) -> AsOf:
        """The stream time up to which the figures of a group include everything (rule 55).

        It is read before the figures: they are as new, or newer. Its time is None if it is unknown,
        and for a fast counter, whose votes are no stream records. ``live``: for sums of slots.
        Extremes are read from an index, which is as new as rolled-up totals.
        """
        if self.group.counter is not None:
            return AsOf(None)
        is_rolled_up = not live or self.group.aggregate.has_rows
        return read_as_of(self.table, self.item_cache, rolled_up=is_rolled_up)

    def read_score(self, by: tuple[str, ...], amount: Amount | None, *, ranked: bool) -> Score:
        """One member's score. If nothing was counted, it is zero and has no rank.

        ``amount`` is the live sum; None for the total of the last roll-up.
        """
        live = amount is not None
        if amount is None:
            total = self.table.get(total_items.build_total_key(self.group.render_tally(by)))
            amount = self._check_total(by, total)
        has_rank = ranked and amount.items > 0
        rank = self._count_rank(by, amount, live=live) if has_rank else None
        beyond = MAX_RANKS if has_rank and rank is None else None
        total = to_plain_total(amount.total, self.group.places)
        figures = self._read_figures(by, amount)
        return Score(by, amount.items, total, rank, beyond, figures)

    def read_top(
        self, start: CursorPosition | None, limit: int
    ) -> tuple[list[Score], CursorPosition | None]:
        """A page of the ranking of the last roll-up, highest first, ties by id.

        A member is in one shard, and its own key determines its order. So one position is a
        sufficient cursor for all shards.
        """
        previous_rank = 0 if start is None else start.list
        scores: list[Score] = []
        last = start
        for row in self._read_ranked(start, limit + 1):
            if len(scores) == limit:
                return scores, last
            order = row[ORDER]["S"]
            total = to_plain_total(attributes.parse_number(row["total"]["N"]), self.group.places)
            rank = previous_rank + len(scores) + 1
            item_count = int(total) if self.group.aggregate.measure == "count" else 0
            scores.append(Score(_parse_group(order), item_count, total, rank))
            last = CursorPosition(order, rank)
        return scores, None

    def read_amounts(self, scores: Sequence[Score]) -> dict[tuple[str, ...], Amount]:
        """The amounts of the last roll-up of a page of a ranking, by member; half a unit each.

        None are read if the ranking has all there is: its index projects the total alone, which for
        a count is the number of items too.
        """
        group = self.group
        if not scores or (group.aggregate.measure == "count" and not group.aggregate.figures):
            return {}
        totals = {
            score.by: total_items.build_total_key(group.render_tally(score.by)) for score in scores
        }
        images = self.table.batch_get(totals.values()).require_all()
        return {by: self._check_total(by, images.get(key)) for by, key in totals.items()}

    def _check_total(self, by: tuple[str, ...], total: Image | None) -> Amount:
        """The amount of a total, which must be at its place in the ranking.

        Raises:
            UnreadableError: it is at another place, or not all of it counts the same.
        """
        amount = slots.read_amount(total)
        if total is None or "items" not in total:
            return amount
        name = slots.TallyName.parse(self.group.render_tally(by))
        place = build_ranking_key(name, self.group.plan, self.group.aggregate, amount)
        stored = total.get(f"{INDEX}PK", NO_VALUE).get("S"), total.get(ORDER, NO_VALUE).get("S")
        is_count = self.group.aggregate.measure == "count"
        if stored != ((None, None) if place is None else (place.pk, place.sk)) or (
            is_count and amount.items != amount.total
        ):
            raise UnreadableError(slots.name_tally(total["PK"]["S"]), MISPLACED)
        return amount

    def complete_scores(
        self,
        scores: Sequence[Score],
        amounts: Mapping[tuple[str, ...], Amount],
        parallelism: int,
    ) -> list[Score]:
        """A page of a ranking with the counts and the further figures of its members.

        ``amounts``: of its members; of none if the scores are complete. Smallest and largest values
        are read from an index, half a unit each, ``parallelism`` members at the same time.
        """
        if not amounts:
            return [*scores]
        with ThreadPoolExecutor(parallelism) as pool:
            return [*pool.map(lambda score: self._complete(score, amounts), scores)]

    def _complete(self, score: Score, amounts: Mapping[tuple[str, ...], Amount]) -> Score:
        amount = amounts[score.by]
        figures = self._read_figures(score.by, amount)
        items = score.items if self.group.aggregate.measure == "count" else amount.items
        return replace(score, items=items, figures=figures)

    def _read_figures(self, by: tuple[str, ...], amount: Amount) -> Mapping[str, FieldFigures]:
        """The further figures of one member; nothing has an extreme if it has no items."""
        group, extremes = self.group, dict[str, Extremes]()
        if amount.items > 0 and group.aggregate.has_rows:
            parts = (*group.within, *by)
            extremes = read_extremes(self.table, group.tenant, group.plan, group.aggregate, parts)
        return build_figures(group.aggregate, amount, extremes, group.places_by_field)

    def read_members_live(self) -> dict[tuple[str, ...], Amount] | None:
        """Every member of a ranking, with its current sum; None if that exceeds the budget.

        The members come from the ranking of the last roll-up. It does not contain a member that was
        counted for the first time after that. A caller that has the members reads each figure live.

        Raises:
            Invalid: there are over 100 members.
        """
        rows = list(islice(self._read_ranked(None, MAX_LIVE_GROUPS + 1), MAX_LIVE_GROUPS + 1))
        if len(rows) > MAX_LIVE_GROUPS:
            raise Invalid(f"only up to {MAX_LIVE_GROUPS} are counted live", field="live")
        members = {_parse_group(row[ORDER]["S"]) for row in rows}
        return self.table.budget.try_live(
            lambda: {by: self.read_live_amount(by) for by in members}, LIVE_UNITS * len(members)
        )

    def read_live_amount(self, by: tuple[str, ...]) -> Amount:
        """The current sum of one member."""
        return read_live_amount(self.table, self.group.render_tally(by))

    def rank_amounts(
        self,
        amounts: Mapping[tuple[str, ...], Amount],
        start: CursorPosition | None,
        limit: int,
    ) -> tuple[list[Score], CursorPosition | None]:
        """A page of the ranking of the members with these amounts."""
        ranked = sorted(
            (render_order(amount, by), by) for by, amount in amounts.items() if amount.items > 0
        )
        scores = [
            (order, Score(by, amounts[by].items, total, rank))
            for rank, (order, by) in enumerate(ranked, 1)
            for total in (to_plain_total(amounts[by].total, self.group.places),)
        ]
        following = [entry for entry in scores if start is None or entry[0] > start.order]
        page = [score for _, score in following[:limit]]
        if len(following) > limit:
            return page, CursorPosition(following[limit - 1][0], limit)
        return page, None

    def _read_ranked(self, start: CursorPosition | None, count: int) -> Iterator[Image]:
        """Rows of the ranking after ``start``, its shards merged; each query is for ``count``."""
        partitions = self.group.list_rankings
        lists = [self._read_shard(partition, start, count) for partition in partitions]
        return merge(*lists, key=lambda row: str(row[ORDER]["S"]))

    def _read_shard(
        self, partition: str, start: CursorPosition | None, count: int
    ) -> Iterator[Image]:
        query = Query(partition, INDEX, limit=count)
        if start is not None:
            # One row more, because the bound is inclusive: the result contains the last row again.
            query = replace(query, low=start.order, limit=count + 1)
        for page in self.table.query_pages(query):
            for row in page.items:
                is_behind = start is None or row[ORDER]["S"] > start.order
                if is_behind and self._is_placed(row):
                    yield row

    def _is_placed(self, row: Image) -> bool:
        """Whether a row is of the member and at the place that its order states.

        It is a copy of its total, so both are always of one time. Others are ``unreadable``.
        """
        order, aggregate = row[ORDER]["S"], self.group.aggregate
        by, total = _parse_group(order), attributes.parse_number(row["total"]["N"])
        if (
            render_order(Amount(1, total), by) == order
            and row["PK"]["S"] == self.group.render_tally(by)
            and (aggregate.measure != "count" or total > 0)
        ):
            return True
        logger.error("a total is not at its place: %s", row["PK"]["S"])
        key = {part.field: text for part, text in zip(aggregate.by, by, strict=False)}
        self.unreadable.append(UnreadableItem(key, MISPLACED))
        return False

    def _count_rank(self, by: tuple[str, ...], amount: Amount, *, live: bool) -> int | None:
        """The rank from 1: counts the members ahead; None if 10,000 are ahead."""
        own = render_order(amount, by)
        ahead = 0
        if live:
            # The index has the score of the last roll-up: a member is not ahead of itself.
            last = read_rolled_up_amount(self.table, self.group.render_tally(by))
            ahead = -1 if last.items > 0 and render_order(last, by) < own else 0
        for partition in self.group.list_rankings:
            query = Query(partition, INDEX, below=own, limit=MAX_RANKS, count_only=True)
            for page in self.table.query_pages(query):
                ahead += page.count
                if ahead >= MAX_RANKS:
                    return None
        return ahead + 1


def render_order(amount: Amount, by: Iterable[str]) -> str:
    """The order of a total in its ranking."""
    return keys.render(keys.parse_inverted_score(amount.total), *by)


def to_plain_total(total: Decimal, places: int) -> Any:
    """A total with at least so many places, or, without places, as int if it is whole."""
    if places:
        return pad_decimal(total, places)
    return int(total) if total == total.to_integral_value() else total


def _parse_group(order: str) -> tuple[str, ...]:
    return keys.parse(order)[1:]


def _name_last_field(parts: Sequence[Part], default: str) -> str:
    """The field that an error about a too long key names."""
    return parts[-1].field if parts else default
