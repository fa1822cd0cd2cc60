"""What is declared where a schedule plays: three small entities by hand, or all of the stack's.

Values are few, so that items meet in lists, tallies and keys. By hand they are chosen to meet in
what each entity is for; of the stack's entities they are drawn by the types of their fields, so
that a new domain is played without a word.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, TypeVar

from daicho.derive import contributions
from daicho.derive.contributions import Amount
from daicho.plan import AggregatePlan, EntityPlan, Ledger
from daicho.plan.event_filters import archive_filters, project_filters
from daicho.storage import keys
from daicho.storage.attributes import Image
from tests.delivery.aws.event_filters import EventFilters
from tests.delivery.code import FIRST, FIXED, SECOND
from tests.support import sample_ledger

T = TypeVar("T")
MONTHS = ("2026-10-31T00:00:00.000000Z", "2026-11-01T00:00:00.000000Z")
SHARDS = 8


@dataclass(frozen=True)
class Drawing:
    """What values are drawn from.

    ``pick`` gives one of some values. ``customers`` lie in different halves of the stream's hashes,
    and make a tally of two shards.
    """

    pick: Callable[[Any], Any]
    ids: str
    customers: str
    now: dt.datetime


@dataclass(frozen=True)
class Declared:
    """Declarations by version of the code, and values for them."""

    ledgers: Mapping[int, Ledger]
    draw: Callable[[EntityPlan, Drawing], dict[str, Any]]

    @property
    def newest(self) -> Ledger:
        """What the newest code knows."""
        return self.ledgers[SECOND]

    @property
    def entities(self) -> tuple[str, ...]:
        """Those that the stream has anything to do for."""
        return tuple(sorted({*self.newest.derived_types, *self.newest.archived_types}))

    def generation(self, entity: str, known: int) -> int:
        """The generation of an entity that writers write who know ``known`` generations."""
        return min(known, self.newest.current_generation(entity).number)

    def image(self, entity: str, values: Mapping[str, Any], generation: int) -> Image:
        """A base item as the library stores it."""
        return sample_ledger.build_image(entity, values, gen=generation, ledger=self.newest)

    def plan_of(self, item: Image) -> EntityPlan:
        """The plan of an image's generation."""
        return self.newest.find_plan(item["type"]["S"], int(item["gen"]["N"]))

    def contributions(self, item: Image) -> dict[str, Amount]:
        """What an image counts, by tally."""
        return contributions.compute_contributions(self.plan_of(item), item)

    def kept(self, item: Image) -> dict[str, Amount]:
        """What stays counted of an item that expires."""
        found = self.contributions(item)
        return {t: a for t, a in found.items() if self.aggregate(t).on_expiry == "keep"}

    def aggregate(self, tally: str) -> AggregatePlan:
        """What a tally is one of."""
        _, name, since, *_ = keys.parse(tally)
        entity, _, aggregate = name.removeprefix("+").rpartition(".")
        return self.newest.find_aggregate(entity, aggregate, int(since))[1]

    def touched(self, images: Iterable[Image | None], *, expired: bool) -> set[str]:
        """The tallies that a record with these two images changes."""
        amounts: defaultdict[str, Amount] = defaultdict(Amount)
        for sign, item in zip((-1, 1), images, strict=True):
            for tally, amount in self.contributions(item).items() if item else ():
                amounts[tally] += amount if sign > 0 else -amount
        kept = {t for t in amounts if expired and self.aggregate(t).on_expiry == "keep"}
        return {tally for tally, amount in amounts.items() if amount} | kept

    @cached_property
    def filters(self) -> Mapping[str, tuple[str, ...]]:
        """The event filters of each consumer."""
        archived = archive_filters(self.newest.archived_types, emulated=False)
        return {
            "project": tuple(project_filters(self.newest.derived_types)),
            "archive": tuple(archived),
        }

    @cached_property
    def passes(self) -> Mapping[str, EventFilters]:
        """The same, ready to be asked."""
        return {name: EventFilters(patterns) for name, patterns in self.filters.items()}


def by_hand(plan: EntityPlan, drawing: Drawing) -> dict[str, Any]:
    """Values of the small entities of `tests.support.sample_ledger`."""
    pick = drawing.pick
    match plan.name:
        case "Song":
            return {
                "id": pick(drawing.ids),
                "name": pick(("ab", "ac", "b")),
                "artist": pick("xy"),
                "seconds": pick((1, 2, -1)),
            }
        case "Download":
            return {"song": "1", "id": pick(drawing.ids), "at": pick(MONTHS)}
        case "Order":
            return {
                "customer": pick(drawing.customers),
                "id": pick(drawing.ids),
                "rank": pick((1, 2)),
                "status": pick(("open", "open", "shipped")),
                "tags": set(pick(("", "r", "rs"))),
            }
        case "Ballot":
            return {
                "poll": "p",
                "voter": pick(drawing.ids),
                "candidate": pick("xy"),
                "shards": SHARDS,
                "salt": "s",
            }
        case _:
            raise AssertionError(f"nothing is drawn for {plan.name}")


def by_type(plan: EntityPlan, drawing: Drawing) -> dict[str, Any]:
    """Values of any entity: of a key few, of what a condition asks for those that it asks for."""
    asked: defaultdict[str, list[str]] = defaultdict(list)
    wheres = [each.where for each in plan.listings] + [each.where for each in plan.aggregates]
    for where in wheres:
        if where is not None:
            asked[where.field] += where.one_of
    frozen = {plan.key.shards: SHARDS, plan.key.salt: "s"}
    return {
        name: frozen[name] if name in frozen else _value(plan, name, kind, asked, drawing)
        for name, kind in sorted(plan.fields.items())
    }


def _value(
    plan: EntityPlan,
    name: str,
    kind: str,
    asked: Mapping[str, list[str]],
    drawing: Drawing,
) -> Any:
    if name in plan.key.partition and kind == "str" and len(plan.key.partition) == 1:
        return drawing.pick(drawing.customers if plan.key.sort else drawing.ids)
    if name in (*plan.key.partition, *plan.key.sort) and kind == "str":
        return drawing.pick(drawing.ids)
    values: Mapping[str, tuple[Any, ...]] = {
        "str": (*asked.get(name, ()), *("ab", "b")),
        "int": (1, 2, -1),
        "bool": (False, True),
        "decimal": (Decimal("1.5"), Decimal(2), Decimal("-0.01")),
        "date": ("2026-10-31", "2026-11-01"),
        "datetime": MONTHS,
        "set": (set(), {"r"}, {"r", "s"}),
    }
    return drawing.pick(values[kind])


BY_HAND = Declared(
    {FIRST: sample_ledger.OLD_LEDGER, SECOND: sample_ledger.LEDGER, FIXED: sample_ledger.LEDGER},
    by_hand,
)
_STACK = Ledger.load()
ALL_DOMAINS = Declared(dict.fromkeys((FIRST, SECOND, FIXED), _STACK), by_type)
"""The stack's own declarations, all in one table."""
