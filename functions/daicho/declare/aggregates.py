"""Declarations: keys, searches, listings and aggregates, as values of a class body.

Inside the class a declaration takes the bare names of fields; outside, called with values, it is
a question that a `Book` answers (`daicho.declare.queries`). A declaration is data: it holds no
code.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar, TypeVarTuple, get_args

from daicho.declare.fields import MISSING, FieldSpec
from daicho.declare.queries import E, Figure, Many, One, Ranking
from daicho.errors import DeclarationError
from daicho.plan import Bucket, RolledUp

MOST_SHARDS = 100
"""Of a listing or a ranking: each is read for a page."""

Ts = TypeVarTuple("Ts")
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class PartSpec:
    """A field as a declaration uses it: bucketed, folded, or each of a set."""

    field: FieldSpec
    bucket: Bucket | None = None
    folded: bool = False
    each: bool = False

    @classmethod
    def of(cls, value: Any) -> PartSpec:
        """Read what stands in a declaration's argument list."""
        if isinstance(value, PartSpec):
            return value
        return cls(spec_of(value))


@dataclass(frozen=True, eq=False)
class ConditionSpec:
    """A condition on one field."""

    field: FieldSpec
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Count:
    """Count items."""


@dataclass(frozen=True, eq=False)
class Sum:
    """Add up a field of whole numbers or exact decimals."""

    field: Any


def spec_of(value: Any) -> FieldSpec:
    """The field that a bare name in a class body stands for.

    Raises:
        DeclarationError: it is no field.
    """
    if not isinstance(value, FieldSpec):
        raise DeclarationError(
            f"a declaration takes fields; {value!r} is none "
            "(a field with a default that is read: name: str = field(default=...))"
        )
    return value


def month(moment: dt.datetime | dt.date) -> str:
    """The month of an instant or day, in UTC: ``2026-11``."""
    return as_seen(str, PartSpec(spec_of(moment), bucket="month"))


def day(moment: dt.datetime) -> str:
    """The day of an instant, in UTC: ``2026-11-21``."""
    return as_seen(str, PartSpec(spec_of(moment), bucket="day"))


def folded(text: str) -> str:
    """The whole text in the normal form of searches: case, width, marks and kana folded."""
    return as_seen(str, PartSpec(spec_of(text), folded=True))


def each(members: set[str]) -> str:
    """Each member of a set: the item is listed, or counted, once for every one."""
    return as_seen(str, PartSpec(spec_of(members), each=True))


def one_of(value: T, *values: T) -> bool:
    """True of items whose field is one of ``values``."""
    return as_seen(bool, ConditionSpec(spec_of(value), values))


def as_seen(_kind: type[T], value: Any) -> T:
    """A declared value: mypy sees what it will be in an item, Python what is declared of it."""
    result: T = value
    return result


class Declaration:
    """A named value of an entity's class body."""

    name = ""
    entity = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name, self.entity = name, owner.__name__

    def __str__(self) -> str:
        return f"{self.entity}.{self.name}"


class Key(Declaration, Generic[*Ts]):
    """The primary key: the first ``partition`` fields choose the item collection, others order it.

    ``partition=0`` puts all items of a tenant into one collection. ``shards`` spreads a
    collection by a hash of the key (a calculated suffix): a number, or a field that holds it.
    ``salt`` is a hidden field that nobody outside can know, so that nobody can aim at a shard.
    ``moves`` is the one field of the key that may change: the item moves then, in one transaction.
    """

    edge = False

    def __init__(
        self,
        *parts: *Ts,
        partition: int = 1,
        shards: Any = MISSING,
        salt: Any = MISSING,
        moves: Any = MISSING,
    ) -> None:
        self.parts = tuple(spec_of(part) for part in parts)
        if not self.parts:
            raise DeclarationError("a Key takes at least one field")
        if not 0 <= partition <= len(self.parts):
            raise DeclarationError(
                f"a Key of {len(self.parts)} fields has no partition={partition}"
            )
        self.partition = partition
        if shards is not MISSING and (
            not isinstance(shards, int | FieldSpec) or isinstance(shards, bool)
        ):
            raise DeclarationError(f"a Key's shards are a number or a field(), not {shards!r}")
        self.shards: int | FieldSpec | None = None if shards is MISSING else shards
        self.salt: FieldSpec | None = None if salt is MISSING else spec_of(salt)
        self.moves: FieldSpec | None = None if moves is MISSING else spec_of(moves)

    def __get__(self, instance: object, owner: type[E]) -> KeyOf[E, *Ts]:
        return KeyOf(owner, self)


class Edge(Key[*Ts]):
    """A relation between two items, readable from both ends (an adjacency list)."""

    edge = True

    def __init__(self, *ends: *Ts) -> None:
        super().__init__(*ends)
        if len(self.parts) != 2:
            raise DeclarationError("an Edge has two ends")

    def __get__(self, instance: object, owner: type[E]) -> EdgeOf[E, *Ts]:
        return EdgeOf(owner, self)


class KeyOf(Generic[E, *Ts]):
    """A key, asked: called with all values it is one item; `all` is a collection."""

    def __init__(self, entity: type[E], key: Key[*Ts]) -> None:
        self.entity, self.declaration = entity, key

    def __call__(self, *parts: *Ts) -> One[E]:
        """The item with these values of the key's fields."""
        counted(parts, len(self.declaration.parts), self.declaration)
        return One(self.entity, parts)

    def all(self, *partition: Any) -> Many[E]:
        """The items of one collection in the order of their sort key, over all shards."""
        counted(partition, self.declaration.partition, self.declaration)
        return Many(self.entity, "partition", "key", partition)

    def under(self, *parts: Any) -> Many[E]:
        """The items whose key begins with these values, whole ones, in the order of their key.

        ``Place.key.under("japan", "kanto")``: not what is under ``kantoku``. At least the
        partition is given.
        """
        declared = self.declaration
        if not declared.partition <= len(parts) <= len(declared.parts):
            raise TypeError(
                f"{declared} is asked under {declared.partition} to {len(declared.parts)} values, "
                f"not {len(parts)}"
            )
        return Many(self.entity, "under", "key", parts)


class EdgeOf(KeyOf[E, *Ts]):
    """An edge, asked: `all` from its near end, `inverse` from its far end."""

    def inverse(self, far_end: Any) -> Many[E]:
        """The edges that lead to ``far_end``."""
        return Many(self.entity, "inverse", "key", (far_end,))


class Tally(Declaration):
    """What has figures: groups ``by`` some fields, ranked ``within`` others."""

    measure: Count | Sum = Count()
    by: tuple[PartSpec, ...]
    within: tuple[PartSpec, ...]
    ranked: bool

    def __get__(self, instance: object, owner: type[E]) -> TallyOf:
        return TallyOf(owner, self)


class Aggregate(Tally):
    """A count or a sum for each group, exact, maintained through the stream.

    Args:
        measure: ``Count()`` or ``Sum(field)``.
        by: the fields that make a group.
        within: what groups are ranked within: a field, ``month(at)``, or a tuple of such.
        ranked: keep the groups in order of their total.
        where: count only items that meet it.
        on_expiry: what a TTL deletion does: ``"subtract"``, or ``"keep"`` what was counted.
            Must be said where the entity expires.
        shards: how many partitions of the index one ranking is spread over. Each takes 1,000
            writes a second, and a rollup writes each member that changed once a minute: 30,000
            busy members fit one. A page costs a query a shard; 100 at most.
        rolled_up: when totals and ranking follow: ``"by schedule"``, within a minute, or
            ``"at once"``, after each batch of the stream too, which costs every batch a few
            units a group. For groups that people watch, not for those that many write at once.
    """

    def __init__(
        self,
        measure: Count | Sum,
        *by: Any,
        within: Any = (),
        ranked: bool = False,
        where: Any = True,
        on_expiry: Literal["keep", "subtract"] | None = None,
        shards: int = 1,
        rolled_up: RolledUp = "by schedule",
    ) -> None:
        self.measure = Sum(spec_of(measure.field)) if isinstance(measure, Sum) else measure
        self.by = tuple(PartSpec.of(part) for part in by)
        within = within if isinstance(within, tuple) else (within,)
        self.within = tuple(PartSpec.of(part) for part in within)
        self.ranked, self.on_expiry = ranked, on_expiry
        self.where = condition(where)
        self.shards = shards
        if ranked and not self.by:
            raise DeclarationError("a ranked Aggregate needs members: group it by a field")
        if shards not in range(1, MOST_SHARDS + 1):
            raise DeclarationError(
                f"a ranking's shards are a number from 1 to {MOST_SHARDS}, not {shards!r}"
            )
        if shards > 1 and not ranked:
            raise DeclarationError("shards spread a ranking, and this Aggregate is not ranked")
        if rolled_up not in get_args(RolledUp):
            raise DeclarationError(
                f"an Aggregate is rolled_up 'by schedule' or 'at once', not {rolled_up!r}"
            )
        self.rolled_up = rolled_up


class TallyOf:
    """A tally, asked: called with ``within`` and ``by`` values it is one figure."""

    def __init__(self, entity: type[Any], tally: Tally) -> None:
        self.entity, self.declaration = entity, tally

    def __call__(self, *parts: Any) -> Figure:
        """The figure of one group: the values of ``within``, then of ``by``."""
        declared = self.declaration
        counted(parts, len(declared.within) + len(declared.by), declared)
        inner = len(declared.within)
        return Figure(self.entity, declared.name, parts[:inner], parts[inner:])

    def top(self, *within: Any) -> Ranking:
        """The groups of one ``within``, highest first.

        Raises:
            DeclarationError: it is not ranked.
        """
        if not self.declaration.ranked:
            raise DeclarationError(f"{self.declaration} is not ranked")
        counted(within, len(self.declaration.within), self.declaration)
        return Ranking(self.entity, self.declaration.name, within)


class Counter(Tally):
    """A fast, approximate counter, for likes and views: nothing is stored but the number.

    A vote adds 1 to one of ``slots``, drawn at random; totals and ranking follow with the rollup.
    It is approximate because nobody knows of a lost answer whether the vote was counted
    (`Book.add` says so), and because nothing tells who has voted already.

    Args:
        by: the fields that make a group: all groups are ranked.
        within: what groups are ranked within. All groups of one ``within`` share its slots.
        slots: how many at first: two for each 1,000 votes a second, at
            least 8; a number, or a frozen field copied through a reference in ``within``. The
            rollup raises it when they run hot.

    Source: seed 003 (write sharding).
    """

    def __init__(self, *by: Any, within: Any = (), slots: Any = 8) -> None:
        self.by = tuple(PartSpec.of(part) for part in by)
        within = within if isinstance(within, tuple) else (within,)
        self.within = tuple(PartSpec.of(part) for part in within)
        self.ranked = bool(by)
        self.slots: int | FieldSpec = slots
        if any(part.each for part in (*self.by, *self.within)):
            raise DeclarationError("a Counter counts one group at a time: it takes no each()")
        if not isinstance(slots, FieldSpec) and (
            isinstance(slots, bool) or not isinstance(slots, int) or slots < 1
        ):
            raise DeclarationError(f"a Counter's slots are a number or a field(), not {slots!r}")


@dataclass
class Expires(Declaration):
    """Items expire ``after`` their creation; DynamoDB deletes them by TTL, then they are archived.

    Source: seed 003 (Time to Live, and for archiving).
    """

    after: dt.timedelta
    archive: bool = False


def condition(where: Any) -> ConditionSpec | None:
    """The condition that is declared, None for none; DeclarationError for anything else."""
    if where is True:
        return None
    if not isinstance(where, ConditionSpec):
        raise DeclarationError(f"where takes one_of(field, ...), not {where!r}")
    return where


def counted(parts: tuple[Any, ...], expected: int, declaration: Declaration) -> None:
    """Check how many values a question is asked with; TypeError names the declaration."""
    if len(parts) != expected:
        raise TypeError(f"{declaration} takes {expected} values, not {len(parts)}")
