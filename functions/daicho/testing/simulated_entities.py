"""The entities that a schedule writes: their ledgers, and where the values of items come from."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

from daicho.derive.contributions import Amount
from daicho.layout import item_keys
from daicho.plan import AggregatePlan, EntityPlan, Ledger
from daicho.storage import keys
from daicho.storage.attributes import Image, to_image
from daicho.testing.aws.event_filters import EventFilters
from daicho.testing.faults.code_versions import FIXED_CODE, NEW_CODE, OLD_CODE
from daicho.testing.oracle.rows.plain_amounts import compute_plain_amounts
from daicho.testing.oracle.rows.plain_marks import is_empty
from daicho.testing.stack_settings import build_event_filters

if TYPE_CHECKING:
    from daicho.declare.subscribers import Subscriber

TENANT = "t"
CREATED_AT = "2026-11-21T01:05:40.123456Z"
TIMES = ("2026-10-31T00:00:00.000000Z", "2026-11-01T00:00:00.000000Z")
"""In two months, so that figures by month differ."""
KEY_SHARDS = 8


@dataclass(frozen=True)
class ValueSource:
    """What the values of an item are drawn from.

    ``pick`` returns one of some values. ``ids`` and ``partitions`` are characters, each an id: few,
    so that items meet in lists, tallies and keys. ``partitions`` are in different shards of the
    stream, so a tally gets slots of two shards.
    """

    pick: Callable[[Any], Any]
    ids: str
    partitions: str
    now: dt.datetime


@dataclass(frozen=True)
class SimulatedEntities:
    """Declared entities and their values.

    ``ledgers``: by version of the simulated code. ``draw_values`` draws the fields of an item by
    its newest plan. ``first_generation``: the newest generation that writers know when a schedule
    begins; a deployment gives them the others. ``subscribers``: those of the declarations.
    """

    ledgers: Mapping[int, Ledger]
    draw_values: Callable[[EntityPlan, ValueSource], dict[str, Any]]
    first_generation: int = 1
    subscribers: Mapping[str, Subscriber] = field(default_factory=dict)

    @property
    def ledger(self) -> Ledger:
        """The ledger of the newest code."""
        return self.ledgers[NEW_CODE]

    @property
    def names(self) -> tuple[str, ...]:
        """The entities that the consumers of the stream process."""
        return tuple(sorted({*self.ledger.derived_types, *self.ledger.archived_types}))

    def list_generations(self, entity: str, known: int) -> list[int]:
        """The generations, newest first, of images that writers may write.

        ``known``: the newest generation that the writers know. A generation that reads a field as
        another kind than the newest one is left out: one image cannot be valid for both.
        """
        fields = self.ledger.current_generation(entity).plan.fields
        numbers = [
            generation.number
            for generation in reversed(self.ledger.entities[entity])
            if all(fields.get(name, kind) == kind for name, kind in generation.plan.fields.items())
        ]
        return [number for number in numbers if number <= known] or numbers[-1:]

    def list_disabled_instances(self, code_version: int) -> frozenset[tuple[str, str, int]]:
        """Entity, name and since of the instances that the ledger of a code disables."""
        return frozenset(
            (entity, *instance)
            for entity, instances in self.ledgers[code_version].disabled_instances.items()
            for instance in instances
        )

    def build_image(self, entity: str, values: Mapping[str, Any], generation: int) -> Image:
        """A base item as the library stores it: with its key, its type and its generation."""
        plan = self.ledger.find_plan(entity, generation)
        stored = {"created_at": CREATED_AT, **values, "type": entity, "gen": generation}
        content = to_image(stored)
        key = item_keys.build_base_key(TENANT, plan, content)
        return {"PK": {"S": key.pk}, "SK": {"S": key.sk}, **content}

    def find_plan(self, image: Image) -> EntityPlan:
        """The plan of an image's generation."""
        return self.ledger.find_plan(image["type"]["S"], int(image["gen"]["N"]))

    def find_aggregate(self, tally: str) -> AggregatePlan:
        """The aggregate that a tally belongs to. ``tally``: its partition key."""
        _, name, since, *_ = keys.parse(tally)
        entity, _, aggregate = name.removeprefix("+").rpartition(".")
        return self.ledger.find_aggregate(entity, aggregate, int(since))[1]

    def is_empty(self, image: Image) -> bool:
        """Whether an image derives and contributes nothing (rule 56)."""
        return is_empty(image, self._generations)

    def compute_amounts(self, image: Image) -> dict[str, Amount]:
        """What an image contributes, by tally."""
        if self.is_empty(image):
            return {}
        return compute_plain_amounts(self.find_plan(image), image)

    def compute_kept_amounts(self, image: Image) -> dict[str, Amount]:
        """What an expired item still contributes, by tally."""
        amounts = self.compute_amounts(image)
        return {t: a for t, a in amounts.items() if self.find_aggregate(t).on_expiry == "keep"}

    def find_changed_tallies(self, images: Iterable[Image | None], *, expired: bool) -> set[str]:
        """The tallies that a stream record changes. ``images``: the old and the new image."""
        amounts: defaultdict[str, Amount] = defaultdict(Amount)
        for sign, image in zip((-1, 1), images, strict=True):
            for tally, amount in self.compute_amounts(image).items() if image else ():
                amounts[tally] += amount if sign > 0 else -amount
        kept = {t for t in amounts if expired and self.find_aggregate(t).on_expiry == "keep"}
        return {tally for tally, amount in amounts.items() if amount} | kept

    @cached_property
    def _generations(self) -> Mapping[str, frozenset[int]]:
        entities = self.ledger.entities
        return {name: frozenset(each.number for each in entities[name]) for name in entities}

    @cached_property
    def event_filters(self) -> Mapping[str, EventFilters]:
        """The event filters of each consumer."""
        filters = build_event_filters(self.ledger)
        return {name: EventFilters(patterns) for name, patterns in filters.items()}


def simulate_ledger(
    ledger: Ledger, subscribers: Mapping[str, Subscriber] | None = None
) -> SimulatedEntities:
    """All entities of a ledger, with values drawn by the types of their fields.

    Every version of the simulated code has the whole ledger, and writers know all generations.
    """
    merged = {name: _merge_generations(ledger, name) for name in ledger.entities}
    newest = (generations[-1].number for generations in ledger.entities.values())
    return SimulatedEntities(
        dict.fromkeys((OLD_CODE, NEW_CODE, FIXED_CODE), ledger),
        lambda plan, source: draw_values_by_type(merged[plan.name], source),
        first_generation=max(newest, default=1),
        subscribers=subscribers or {},
    )


def _merge_generations(ledger: Ledger, entity: str) -> EntityPlan:
    """The newest plan, with the fields and conditions of all generations."""
    plans = [generation.plan for generation in ledger.entities[entity]]
    return replace(
        plans[-1],
        fields={name: kind for plan in plans for name, kind in plan.fields.items()},
        listings=tuple(listing for plan in plans for listing in plan.derived_listings),
        aggregates=tuple(aggregate for plan in plans for aggregate in plan.derived_aggregates),
    )


def draw_values_by_type(plan: EntityPlan, source: ValueSource) -> dict[str, Any]:
    """Values of any entity: few for keys, and for a condition the values that satisfy it."""
    accepted: defaultdict[str, list[str]] = defaultdict(list)
    conditions = [listing.where for listing in plan.listings]
    conditions += [aggregate.where for aggregate in plan.aggregates]
    conditions += [plan.expires.where] if plan.expires is not None else []
    for condition in conditions:
        if condition is not None:
            accepted[condition.field] += condition.one_of
    fixed = {plan.key.shards: KEY_SHARDS, plan.key.salt: "s"}
    return {
        name: fixed[name] if name in fixed else source.pick(values)
        for name, kind in sorted(plan.fields.items())
        for values in [_list_values(plan, name, kind, accepted.get(name, ()), source)]
        if values
    }


def _list_values(
    plan: EntityPlan, name: str, kind: str, accepted: Iterable[str], source: ValueSource
) -> tuple[Any, ...]:
    """The values that a field may get. None for a kind that nothing is derived from."""
    if kind == "str" and plan.key.partition == (name,):
        return tuple(source.partitions if plan.key.sort else source.ids)
    if kind == "str" and name in plan.key.fields:
        return (*accepted, *source.ids)
    values: Mapping[str, tuple[Any, ...]] = {
        "str": (*accepted, "ab", "b"),
        "int": (1, 2, -1),
        "bool": (False, True),
        "decimal": (Decimal("1.5"), Decimal(2), Decimal("-0.01")),
        "date": ("2026-10-31", "2026-11-01"),
        "datetime": TIMES,
        "set": (set(), {"r"}, {"r", "s"}),
    }
    return values.get(kind.partition("[")[0], ())
