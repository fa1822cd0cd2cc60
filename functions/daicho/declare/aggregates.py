"""``Aggregate`` and ``Counter``: declarations of figures."""

from __future__ import annotations

from typing import Any, Literal, get_args

from daicho.declare.base import Declaration
from daicho.declare.entity import E
from daicho.declare.fields import FieldSpec
from daicho.declare.figures.measures import (
    Count,
    Figure,
    Max,
    Min,
    Percentiles,
    Sum,
    Variance,
    resolve_figures,
)
from daicho.declare.parts import (
    PartSpec,
    check_shards,
    check_value_count,
    read_condition,
    read_parts,
)
from daicho.declare.queries import DeclaredQueries, RankingQuery, TotalQuery
from daicho.errors import DeclarationError
from daicho.plan import RollupMode
from daicho.plan.figures.series import CHUNK_BUCKETS, CHUNK_NAMES
from daicho.tally.slots import MAX_UPDATE_PARTS

MAX_STORED_NUMBERS = 1_500
"""20 to 45 KB in each slot of a group, or of a chunk of a series, that uses all of them."""


class TallyDeclaration(Declaration):
    """A declaration of figures: groups ``by`` some fields, ranked ``within`` others."""

    measure: Count | Sum = Count()
    figures: tuple[Figure, ...] = ()
    by: tuple[PartSpec, ...]
    within: tuple[PartSpec, ...]
    ranked: bool

    def __get__(self, instance: object, owner: type[E]) -> TallyQueries:
        return TallyQueries(owner, self)


class Aggregate(TallyDeclaration):
    """A count or a sum for each group, exact, maintained through the stream.

    Args:
        measure: ``Count()`` or ``Sum(field)``; or a tuple of figures, of which the first one ranks
            the groups: ``(Count(), Mean(minutes), Percentiles(minutes, linear(0, 480, 15)))``.
        by: the fields that make a group.
        within: what groups are ranked within: a field, ``month(at)``, or a tuple of such.
        ranked: keep the groups in order of their total.
        where: count only items that meet it.
        on_expiry: what a TTL deletion does: ``"subtract"``, or ``"keep"`` what was counted.
            It is required where the entity expires.
        shards: how many partitions of the index one ranking is spread over. Each takes 1,000
            writes a second, and a rollup writes each member that changed once a minute: 30,000
            busy members fit one. A page costs a query a shard; 100 at most.
        series: a time bucket of a field, ``day(at, zone="Europe/Berlin")``: each group has a figure
            for each such bucket, and one request reads a range of them. It is not ranked.
        rolled_up: when totals and ranking follow: ``"by schedule"``, within a minute, or
            ``"at once"``, after each batch of the stream too, which costs every batch a few
            units a group. For groups that people watch, not for those that many write at once.
    """

    def __init__(
        self,
        measure: Count | Sum | tuple[Figure, ...],
        *by: Any,
        within: Any = (),
        ranked: bool = False,
        where: Any = True,
        on_expiry: Literal["keep", "subtract"] | None = None,
        shards: int = 1,
        series: Any = None,
        rolled_up: RollupMode = "by schedule",
    ) -> None:
        self.measure, self.figures = resolve_figures(measure)
        self.by, self.within = read_parts(by), read_parts(within)
        self.ranked, self.on_expiry = ranked, on_expiry
        self.where = read_condition(where)
        self.shards = shards
        self.series = _read_series(series, ranked=ranked)
        _check_sizes(self.figures, self.series)
        if on_expiry == "keep" and any(isinstance(each, Min | Max) for each in self.figures):
            raise DeclarationError(
                "Min and Max are of the items that exist, and this Aggregate keeps expired ones; "
                "write on_expiry='subtract', or declare Min and Max in an Aggregate of their own"
            )
        self._check_ranking()
        if rolled_up not in get_args(RollupMode):
            raise DeclarationError(
                f"an Aggregate is rolled_up 'by schedule' or 'at once', not {rolled_up!r}; "
                "write one of the two, or leave rolled_up= out"
            )
        self.rolled_up = rolled_up

    def _check_ranking(self) -> None:
        if self.ranked and not self.by:
            raise DeclarationError(
                "a ranked Aggregate needs members: group it by a field; "
                "write the field before ranked=True, Aggregate(Count(), song, "
                "ranked=True)"
            )
        check_shards("ranking", self.shards)
        if self.shards > 1 and not self.ranked:
            raise DeclarationError(
                "shards spread a ranking, and this Aggregate is not ranked; "
                "add ranked=True, or remove shards="
            )


def _read_series(series: Any, *, ranked: bool) -> PartSpec | None:
    """The time bucket of a series; DeclarationError for anything else, or with a ranking."""
    if series is None:
        return None
    if not isinstance(series, PartSpec) or series.bucket is None:
        raise DeclarationError(
            f'series= takes a time bucket, not {series!r}; write series=day(at, "Europe/Berlin")'
        )
    if ranked:
        raise DeclarationError(
            "an Aggregate with a series has no ranking: its groups have one figure for each "
            "bucket; remove ranked=True, or declare the ranking as an Aggregate of its own"
        )
    return series


def _check_sizes(figures: tuple[Figure, ...], series: PartSpec | None) -> None:
    """Refuse figures of which an item adds to too many numbers, or a slot has too many.

    Raises:
        DeclarationError: a change of one item adds to over 200 numbers, or over 1,500 are stored.
    """
    counts = [each for each in figures if isinstance(each, Count)]
    fields = {id(each.field) for each in figures if not isinstance(each, Count)}
    squares = [each for each in figures if isinstance(each, Variance)]
    histograms = [len(each.buckets.edges) + 1 for each in figures if isinstance(each, Percentiles)]
    plain = len(counts) + 2 * len(fields) + len(squares)
    of_item = plain + len(histograms)
    # The old and the new image of an item: in a series each adds to a bucket and to its chunk.
    added = 2 * of_item if series is None else 2 * (2 * of_item + 2)
    if added > MAX_UPDATE_PARTS:
        raise DeclarationError(
            f"a change of an item adds to up to {added} numbers of this Aggregate, and one write "
            f"takes at most {MAX_UPDATE_PARTS}; declare two Aggregates with fewer fields"
        )
    bucket = None if series is None else series.bucket
    # The numbers of the buckets of a chunk, and those of the whole chunk.
    stored = 1 if bucket is None else CHUNK_BUCKETS[bucket] + 1
    numbers = (2 + plain + sum(histograms)) * stored
    if numbers > MAX_STORED_NUMBERS:
        what = "group" if bucket is None else f"{CHUNK_NAMES[bucket]} of this series"
        raise DeclarationError(
            f"a {what} has up to {numbers:,} numbers, and at most {MAX_STORED_NUMBERS:,} are "
            "stored together; declare fewer buckets of percentiles, or a coarser time bucket"
        )


class TallyQueries(DeclaredQueries[Any, TallyDeclaration]):
    """The queries of a tally: called with ``within`` and ``by`` values, one figure."""

    def __call__(self, *parts: Any) -> TotalQuery:
        """The figure of one group: the values of ``within``, then of ``by``."""
        declared = self.declaration
        check_value_count(parts, len(declared.within) + len(declared.by), declared)
        inner = len(declared.within)
        return TotalQuery(self.entity, declared.name, parts[:inner], parts[inner:])

    def top(self, *within: Any) -> RankingQuery:
        """The groups of one ``within``, highest first.

        Raises:
            DeclarationError: it is not ranked.
        """
        if not self.declaration.ranked:
            raise DeclarationError(
                f"{self.declaration} is not ranked; "
                f"declare it with ranked=True, or read one group: {self.declaration}(...)"
            )
        check_value_count(within, len(self.declaration.within), self.declaration)
        return RankingQuery(self.entity, self.declaration.name, within)


class Counter(TallyDeclaration):
    """A fast, approximate counter, for likes and views: nothing is stored but the number.

    A vote adds 1 to one of ``slots``, drawn at random; totals and ranking follow with the rollup.
    It is approximate because after a lost answer nobody knows whether the vote was counted
    (`Book.add` reports it), and because no record shows who has voted already.

    Args:
        by: the fields that make a group: all groups are ranked.
        within: what groups are ranked within. All groups of one ``within`` share its slots.
        slots: how many writers may open: two for each 1,000 votes a second, at
            least 8; a number, or a frozen field copied through a reference in ``within``. There are
            8 at first, and the rollup opens more when they run hot.

    Source: write sharding, "Data modeling building blocks in DynamoDB", Amazon
    DynamoDB Developer Guide.
    """

    def __init__(self, *by: Any, within: Any = (), slots: Any = 8) -> None:
        self.by, self.within = read_parts(by), read_parts(within)
        self.ranked = bool(by)
        self.slots: int | FieldSpec = slots
        if any(part.each or part.edges for part in (*self.by, *self.within)):
            raise DeclarationError(
                "a Counter counts one group at a time: it takes no each() and no band(); "
                "use Aggregate(Count(), each(...)) instead"
            )
        if not isinstance(slots, FieldSpec) and (
            isinstance(slots, bool) or not isinstance(slots, int) or slots < 1
        ):
            raise DeclarationError(
                f"a Counter's slots are a number or a field(), not {slots!r}; "
                "write slots=8, or slots= with a copied field"
            )
