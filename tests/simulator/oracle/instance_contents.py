"""What an instance of a declaration should contain: everything that it derives from every item.

It does not use the library's notion of a complete instance. An instance is derived alone, by the
newest plan that has it, from each image, whatever generation wrote it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from daicho.derive.contributions import Amount
from daicho.derive.derived_items import IndexRow
from daicho.plan import AggregatePlan, EntityPlan, Ledger, ListingPlan, RetiringPlan, SearchPlan
from daicho.storage.attributes import Image, ItemKey, get_key
from daicho.tally import slots, total_items
from daicho.testing.faults.simulated_deployment import SimulatedDeployment
from daicho.testing.oracle.recounts import list_recounts
from daicho.testing.oracle.rows.plain_amounts import add_exactly, compute_plain_amounts
from daicho.testing.oracle.rows.plain_keys import split_parts
from daicho.testing.oracle.rows.plain_rows import (
    Declaration,
    compute_plain_rows,
    list_all_declarations,
)
from daicho.testing.oracle.stream_history import (
    ExpiredItem,
    find_restored_rows,
    is_base_item,
    list_expired_items,
)

Contents = dict[Any, Any]
"""Rows by key, and amounts by tally."""


class Instance(NamedTuple):
    """An instance of a declaration: it has keys of its own in the table."""

    entity: str
    name: str
    since: int

    def __str__(self) -> str:
        return f"{self.entity}.{self.name}@{self.since}"

    def owns_row(self, key: ItemKey) -> bool:
        """Whether a derived item belongs to it."""
        owner, parts = split_parts(key.pk)[1], split_parts(key.sk)
        return owner == f"~{self.entity}" and parts[:2] == [self.name, str(self.since)]

    def owns_tally(self, tally: str) -> bool:
        """Whether a tally belongs to it."""
        return split_parts(tally)[1:3] == [f"+{self.entity}.{self.name}", str(self.since)]


def derives(plan: EntityPlan, instance: Instance) -> bool:
    """Whether a plan names an instance: it declares it, or lists it as retiring."""
    return any(
        (each.name, each.since) == (instance.name, instance.since)
        for each in list_all_declarations(plan)
    )


class InstanceContents:
    """What instances should contain now, and what they contain."""

    def __init__(self, deployment: SimulatedDeployment) -> None:
        self._deployment = deployment
        self._entities = deployment.entities
        self._alone: dict[Instance, EntityPlan] = {}
        self._items: defaultdict[str, list[Image]] = defaultdict(list)
        self._included: dict[tuple[Instance, int], tuple[Image, bool]] = {}
        self._derived: dict[tuple[Instance, int], tuple[Image, Contents]] = {}

    def refresh(self) -> None:
        """Read the base items. What follows is about this moment."""
        self._items.clear()
        for key, item in self._deployment.dynamodb.items:
            if "~" not in key.pk and is_base_item(item):
                self._items[item["type"]["S"]].append(item)

    def list_lacking_items(self, instance: Instance) -> list[str]:
        """The items that an instance does not include, as their own generations derive it.

        An instance that includes all of them is exact once the stream is delivered.
        """
        alone = self._get_plan_alone(instance)
        filled = self._deployment.filled.get((instance.entity, instance.name, instance.since), ())
        return [
            f"{get_key(image)} of generation {image['gen']['N']}"
            for image in self._list_images(instance, alone, filled)
            if not self._includes(instance, alone, image)
        ]

    def find_differences(self, instance: Instance) -> list[str]:
        """How an instance differs from all items, once everything is delivered and rolled up.

        Tallies that wait for a recount are not compared.
        """
        recounts = list_recounts(self._deployment)
        expected = self.compute_contents(instance)
        actual = self._read(instance)
        return [
            f"{instance}: {key}: {actual.get(key)} instead of {expected.get(key)}"
            for key in sorted({*expected, *actual}, key=str)
            if expected.get(key) != actual.get(key) and key not in recounts
        ]

    def compute_contents(self, instance: Instance) -> Contents:
        """What an instance should contain: everything that it derives from every item."""
        expected: Contents = {}
        for image in self._list_images(instance, self._get_plan_alone(instance)):
            for key, value in self.derive_alone(instance, image).items():
                is_amount = isinstance(value, Amount)
                expected[key] = (
                    add_exactly(expected.get(key, Amount()), value) if is_amount else value
                )
        return {key: value for key, value in expected.items() if value != Amount()}

    def derive_alone(self, instance: Instance, image: Image) -> Contents:
        """What an instance derives from an image, whatever generation wrote it."""
        key = (instance, id(image))
        if key not in self._derived or self._derived[key][0] is not image:
            contents = self._select(instance, self._get_plan_alone(instance), image)
            self._derived[key] = (image, contents)
        return self._derived[key][1]

    def _includes(self, instance: Instance, alone: EntityPlan, image: Image) -> bool:
        """Whether an image's own generation derives all of it for an instance."""
        key = (instance, id(image))
        if key not in self._included or self._included[key][0] is not image:
            own = self._select(instance, self._entities.find_plan(image), image)
            self._included[key] = (image, own == self._select(instance, alone, image))
        return self._included[key][1]

    def _get_plan_alone(self, instance: Instance) -> EntityPlan:
        if instance not in self._alone:
            self._alone[instance] = _build_plan_alone(self._entities.ledger, instance)
        return self._alone[instance]

    def list_kept_items(self, entity: str) -> list[ExpiredItem]:
        """The items of an entity that expired and are still counted: their row is not restored."""
        restored = find_restored_rows(self._deployment.stream)
        return [
            each
            for each in list_expired_items(self._deployment.stream)
            if each.image["type"] == {"S": entity} and each.row not in restored
        ]

    def _list_images(
        self, instance: Instance, alone: EntityPlan, without: Collection[str] = ()
    ) -> list[Image]:
        """The images of an instance's items, and of those that expired and are still counted.

        ``without``: archived rows to leave out.
        """
        images = self._items.get(instance.entity, [])
        if any(aggregate.on_expiry == "keep" for aggregate in alone.aggregates):
            kept = self.list_kept_items(instance.entity)
            return [*images, *(each.image for each in kept if each.row not in without)]
        return images

    def _select(self, instance: Instance, plan: EntityPlan, image: Image) -> Contents:
        """What a plan derives from an image for an instance."""
        chosen = (instance.name, instance.since)
        rows = compute_plain_rows(plan, image, chosen)
        return {**rows, **compute_plain_amounts(plan, image, chosen)}

    def _read(self, instance: Instance) -> Contents:
        """What the table has of an instance."""
        contents: Contents = {}
        for key, item in self._deployment.dynamodb.items:
            if "~" in key.pk and "GSI2PK" in item and instance.owns_row(key):
                contents[key] = IndexRow.from_item(item)
            elif (
                key.sk == total_items.TOTAL_SORT_KEY
                and "#+" in key.pk
                and instance.owns_tally(key.pk)
            ):
                contents[key.pk] = slots.read_amount(item)
        return {key: value for key, value in contents.items() if value != Amount()}


def _build_plan_alone(ledger: Ledger, instance: Instance) -> EntityPlan:
    """The newest plan that names an instance, with nothing else in it."""

    def is_it(declaration: Declaration) -> bool:
        return (declaration.name, declaration.since) == (instance.name, instance.since)

    generation = next(
        generation
        for generation in reversed(ledger.entities[instance.entity])
        if derives(generation.plan, instance)
    )
    plan = generation.plan
    declared: Mapping[type, list[Any]] = {SearchPlan: [], ListingPlan: [], AggregatePlan: []}
    for declaration in filter(is_it, list_all_declarations(plan)):
        declared[type(declaration)].append(declaration)
    return replace(
        plan,
        searches=tuple(declared[SearchPlan]),
        listings=tuple(declared[ListingPlan]),
        aggregates=tuple(declared[AggregatePlan]),
        counters=(),
        retiring=RetiringPlan(),
    )
