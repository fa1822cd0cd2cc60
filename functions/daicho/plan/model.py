"""The plan: declarations as plain data.

The composition root compiles the declarations to it; the stream functions, the infrastructure
and the docs read it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cached_property
from typing import Any, Literal

from daicho.errors import DeclarationError
from daicho.plan.expiry import CREATED_AT, ExpiryPlan
from daicho.plan.figures.figure_plans import FigurePlan, MeasuredField, list_measured_fields
from daicho.plan.parts import Condition, Part, UniquePlan
from daicho.plan.text_rules import FIRST_FOLD, TextKind, TextRules
from daicho.runtime.frozen_dataclasses import dataclass

RollupMode = Literal["by schedule", "at once"]
VersionMode = Literal["copy", "pointer"]
"""How an item's versions are kept: whether its base item holds the newest, or its number only."""


@dataclass(frozen=True)
class KeyPlan:
    """The primary key: fields of the partition key, of the sort key, and the shards.

    ``shards`` is a number, or the name of the field that holds it; ``salt`` names the field that
    seasons the hash. ``edge``: readable from the other end through GSI1. ``moves`` names the one
    field that may change: the item moves then.
    """

    partition: tuple[str, ...]
    sort: tuple[str, ...]
    shards: int | str | None = None
    salt: str | None = None
    edge: bool = False
    moves: str | None = None

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """All fields of the key: those of the partition key come first."""
        return (*self.partition, *self.sort)


@dataclass(frozen=True)
class ThroughPlan:
    """A search reaches ``name`` of the ``entity`` that ``field`` refers to.

    ``listing`` has a list for each item referred to; ``kind`` is how the name is read, ``region``
    that of a phone number.
    """

    field: str
    entity: str
    name: str
    kind: TextKind
    listing: str
    region: str = ""


@dataclass(frozen=True)
class SearchPlan:
    """Postings by gram: of the fields' words, or (``contains``) of all that is in them.

    ``steps`` are the lengths of the grams, ``digits`` and ``kana`` of those that begin with such
    a character, if they differ. ``companies`` and ``phones`` are the fields that are read as such.
    ``regions`` are those of ``phones``.
    """

    name: str
    since: int
    fields: tuple[str, ...]
    steps: tuple[int, ...]
    digits: tuple[int, ...] = ()
    kana: tuple[int, ...] = ()
    shards: int = 1
    mode: Literal["prefix", "contains"] = "prefix"
    companies: tuple[str, ...] = ()
    phones: tuple[str, ...] = ()
    through: tuple[ThroughPlan, ...] = ()
    fold_version: int = FIRST_FOLD
    regions: tuple[str, ...] = ()

    @cached_property
    def all_rules(self) -> frozenset[TextRules]:
        """How any of what it searches is read."""
        own = self.rules_by_field.values()
        return frozenset((*own, *map(self.get_through_rules, self.through)))

    @cached_property
    def rules_by_field(self) -> Mapping[str, TextRules]:
        """How the values of its fields are read, in their order."""
        regions = dict(zip(self.phones, self.regions, strict=False))  # the first fold has none
        kinds: dict[str, TextKind] = dict.fromkeys(self.phones, "phone")
        kinds |= dict.fromkeys(self.companies, "company")
        return {
            name: TextRules(kinds.get(name, "text"), self.fold_version, regions.get(name, ""))
            for name in self.fields
        }

    def get_through_rules(self, through: ThroughPlan) -> TextRules:
        """How the names of one of ``through`` are read."""
        return TextRules(through.kind, self.fold_version, through.region)


@dataclass(frozen=True)
class ListingPlan:
    """A sparse listing: a row for each item that meets ``where`` and has all parts.

    ``shards``: over how many partitions of the index each list is spread, by a hash of the key.
    ``copies``: attributes that each row also contains.
    """

    name: str
    since: int
    partition: tuple[Part, ...]
    order: tuple[str, ...]
    where: Condition | None = None
    shards: int = 1
    copies: tuple[str, ...] = ()


@dataclass(frozen=True)
class AggregatePlan:
    """A count or a sum for each group; ``within`` names the ranking, ``by`` its members.

    ``shards``: over how many partitions of the index a ranking is spread. ``rolled_up``: by the
    scheduled rollup alone, or also by the projector after each batch.
    """

    name: str
    since: int
    measure: Literal["count", "sum"]
    field: str | None
    by: tuple[Part, ...]
    within: tuple[Part, ...]
    ranked: bool = False
    on_expiry: Literal["keep", "subtract"] = "subtract"
    where: Condition | None = None
    shards: int = 1
    rolled_up: RollupMode = "by schedule"
    figures: tuple[FigurePlan, ...] = ()
    series: Part | None = None
    """The time bucket by which each group has a series; see `daicho.plan.figures.series`."""

    @cached_property
    def measured_fields(self) -> tuple[MeasuredField, ...]:
        """What its further figures measure."""
        return list_measured_fields(self.figures)

    @cached_property
    def has_rows(self) -> bool:
        """Whether items have rows in order of a value, for the smallest and the largest one."""
        return any(measured.has_rows for measured in self.measured_fields)


@dataclass(frozen=True)
class CounterPlan:
    """A fast counter: votes that are drawn at random over slots, approximate.

    ``within`` and ``by`` make its groups as an aggregate's. ``slots`` is their initial
    number: a number, or the name of the field that holds it.
    """

    name: str
    since: int
    by: tuple[Part, ...]
    within: tuple[Part, ...]
    slots: int | str

    @property
    def tally(self) -> AggregatePlan:
        """The aggregate plan by which its totals and its ranking are kept."""
        ranked = bool(self.by)
        return AggregatePlan(self.name, self.since, "count", None, self.by, self.within, ranked)


@dataclass(frozen=True)
class MigrationPlan:
    """A function of the project that computes ``fields`` of items of generations before ``since``.

    The name finds the function (`daicho.plan.migrations`). ``added``: those of the fields that no
    earlier generation declared.
    """

    name: str
    since: int
    fields: tuple[str, ...]
    added: tuple[str, ...] = ()


DerivedPlan = SearchPlan | ListingPlan | AggregatePlan | UniquePlan
DERIVED_KINDS: Mapping[str, type[DerivedPlan]] = {
    "searches": SearchPlan,
    "listings": ListingPlan,
    "aggregates": AggregatePlan,
    "uniques": UniquePlan,
}
"""The kinds of declarations that images derive, by their attribute of a plan."""


@dataclass(frozen=True)
class RetiringPlan:
    """Instances that an entity does not declare any more, and still derives (EXACTNESS rule 25).

    Another instance replaced them, or they were removed. They are exact until they are disabled.
    """

    searches: tuple[SearchPlan, ...] = ()
    listings: tuple[ListingPlan, ...] = ()
    aggregates: tuple[AggregatePlan, ...] = ()
    uniques: tuple[UniquePlan, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.declarations)

    @property
    def declarations(self) -> tuple[DerivedPlan, ...]:
        """All of them."""
        return (*self.searches, *self.listings, *self.aggregates, *self.uniques)


@dataclass(frozen=True)
class EntityPlan:
    """Everything that one generation of an entity declares. ``versions``: None if none are kept.

    ``retiring``: what it still derives of earlier generations. Writers and the stream derive the
    ``derived_…`` declarations; only a reader distinguishes the two.
    """

    name: str
    fields: Mapping[str, str]
    key: KeyPlan
    searches: tuple[SearchPlan, ...] = ()
    listings: tuple[ListingPlan, ...] = ()
    aggregates: tuple[AggregatePlan, ...] = ()
    counters: tuple[CounterPlan, ...] = ()
    expires: ExpiryPlan | None = None
    split: str | None = None
    """The field whose sections are items of their own, so that no image holds it."""
    versions: VersionMode | None = None
    retiring: RetiringPlan = RetiringPlan()
    migrations: tuple[MigrationPlan, ...] = ()
    uniques: tuple[UniquePlan, ...] = ()

    @cached_property
    def has_retiring(self) -> bool:
        """Whether it derives anything that it does not declare any more."""
        return bool(self.retiring)

    @cached_property
    def derived_searches(self) -> tuple[SearchPlan, ...]:
        """The searches that it declares, and those that retire."""
        return (*self.searches, *self.retiring.searches)

    @cached_property
    def derived_listings(self) -> tuple[ListingPlan, ...]:
        """The listings that it declares, and those that retire."""
        return (*self.listings, *self.retiring.listings)

    @cached_property
    def derived_aggregates(self) -> tuple[AggregatePlan, ...]:
        """The aggregates that it declares, and those that retire."""
        return (*self.aggregates, *self.retiring.aggregates)

    @cached_property
    def derived_uniques(self) -> tuple[UniquePlan, ...]:
        """The unique values that writers reserve: those that it declares, and that retire."""
        return (*self.uniques, *self.retiring.uniques)

    @cached_property
    def time_parts(self) -> tuple[tuple[Part, bool], ...]:
        """The parts that are time buckets, and whether each is that of a series."""
        parts = [part for listing in self.derived_listings for part in listing.partition]
        for aggregate in self.derived_aggregates:
            parts += (*aggregate.within, *aggregate.by)
        found = [(part, False) for part in parts if part.bucket]
        found += [(each.series, True) for each in self.derived_aggregates if each.series]
        return tuple(dict.fromkeys(found))

    @cached_property
    def declared_instances(self) -> frozenset[tuple[str, int]]:
        """What it declares, like `derived_instances`: not what retires in it, nor its counters."""
        return replace(self, retiring=RetiringPlan()).derived_instances

    @cached_property
    def derived_instances(self) -> frozenset[tuple[str, int]]:
        """What it derives: names, and the generations that introduced them (``since``)."""
        derived: list[DerivedPlan] = [*self.searches, *self.listings]
        derived += [*self.aggregates, *self.uniques, *self.retiring.declarations]
        return frozenset((declaration.name, declaration.since) for declaration in derived)

    @cached_property
    def digest(self) -> str:
        """A digest that an edit of the lock file changes; short, because nobody attacks it."""
        text = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def has_derived_state(self) -> bool:
        """Whether the projector has anything to do for this entity."""
        return bool(self.derived_searches or self.derived_listings or self.derived_aggregates)

    def list_read_fields(self) -> list[str]:
        """The names of the fields that its declarations read, sorted; not of those only copied."""
        names: set[object] = {*self.key.partition, *self.key.sort, self.key.shards, self.key.salt}
        for search in self.derived_searches:
            names |= {*search.fields, *(plan.field for plan in search.through)}
        parts: list[Part] = []
        conditions: list[Condition | None] = []
        for listing in self.derived_listings:
            names |= {*listing.order}
            parts += listing.partition
            conditions.append(listing.where)
        for aggregate in self.derived_aggregates:
            names |= {aggregate.field, *(each.field for each in aggregate.measured_fields)}
            parts += (*aggregate.by, *aggregate.within, *filter(None, (aggregate.series,)))
            conditions.append(aggregate.where)
        for counter in self.counters:
            names.add(counter.slots)
            parts += (*counter.by, *counter.within)
        for unique in self.derived_uniques:
            names |= {*unique.fields, *unique.within}
        if self.expires is not None:
            names |= self.expires.fields
        names |= {part.field for part in parts}
        names |= {condition.field for condition in conditions if condition is not None}
        return sorted(name for name in names if isinstance(name, str) and name != CREATED_AT)

    def to_json(self) -> dict[str, Any]:
        """The plan as plain JSON values."""
        plain: dict[str, Any] = _to_json(self)
        return plain

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> EntityPlan:
        """Read what `to_json` wrote.

        Raises:
            DeclarationError: the lock file declares what this version of Daicho does not have, so
                it would derive something else from items of this generation.
        """
        unknown = sorted(data.keys() - {each.name for each in fields(cls)})
        if unknown:
            raise DeclarationError(
                f"the lock file has {data['name']}.{unknown[0]}, which this version of Daicho does "
                "not have: use the version that wrote the lock file, or read 'Upgrading' in the "
                "changelog"
            )
        return cls(**{name: _from_json(name, value) for name, value in data.items()})


_TYPES: Mapping[str, type[Any]] = {
    **DERIVED_KINDS,
    "key": KeyPlan,
    "through": ThroughPlan,
    "figures": FigurePlan,
    "counters": CounterPlan,
    "expires": ExpiryPlan,
    "retiring": RetiringPlan,
    "migrations": MigrationPlan,
    "where": Condition,
    **dict.fromkeys(("partition", "by", "within", "series"), Part),
}
"""The types of what is a JSON object in a plan, by the name of the attribute."""
_OMITTED_DEFAULTS: Mapping[type[Any], tuple[str, ...]] = {
    EntityPlan: ("split", "versions", "retiring", "migrations", "uniques"),
    RetiringPlan: ("uniques",),
    SearchPlan: ("fold_version", "regions"),
    ThroughPlan: ("region",),
    ListingPlan: ("copies",),
    AggregatePlan: ("rolled_up", "figures", "series"),
    UniquePlan: ("fold_version", "refers_to"),
    ExpiryPlan: ("of", "where"),
    Part: ("zone", "first_weekday", "edges", "rules", "fold_version"),
}
"""The attributes that are left out if they have their default value, as in lock files from before
they existed."""


def _to_json(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_to_json(each) for each in value]
    if not is_dataclass(value):
        return dict(value) if isinstance(value, Mapping) else value
    omitted = _OMITTED_DEFAULTS.get(type(value), ())
    plain: dict[str, Any] = {}
    for each in fields(value):
        content = getattr(value, each.name)
        if each.name not in omitted or content != each.default:
            plain[each.name] = _to_json(content)
    return plain


def _from_json(name: str, value: Any) -> Any:
    """The value of an attribute of a plan."""
    if isinstance(value, list):
        return tuple(_from_json(name, each) for each in value)
    if isinstance(value, Mapping) and name in _TYPES:
        return _TYPES[name](**{inner: _from_json(inner, each) for inner, each in value.items()})
    return value
