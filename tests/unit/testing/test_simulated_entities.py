"""Values that are drawn by type: of every kind, for every generation, and for every condition."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from daicho.derive import contributions, derived_items
from daicho.plan import EntityPlan, Generation, KeyPlan, Ledger, ListingPlan, Part
from daicho.testing import SimulatedEntities, ValueSource, simulate_ledger
from tests.support.sample_entities import LEDGER

NOW = dt.datetime(2026, 11, 21, tzinfo=dt.UTC)
KINDS = ("bool", "date", "datetime", "int", "str")


def plan(fields: dict[str, str], **declarations: Any) -> EntityPlan:
    return EntityPlan("Item", {"id": "str", **fields}, KeyPlan(("id",), ()), **declarations)


def simulate(*plans: EntityPlan) -> SimulatedEntities:
    generations = tuple(Generation(number, each) for number, each in enumerate(plans, 1))
    return simulate_ledger(Ledger({"Item": generations}))


def draw(entities: SimulatedEntities, name: str = "Item", choice: int = 0) -> dict[str, Any]:
    """The values if each choice is the same one."""
    source = ValueSource(lambda values: values[min(choice, len(values) - 1)], "12", "cd", NOW)
    return entities.draw_values(entities.ledger.current_generation(name).plan, source)


@pytest.mark.parametrize("name", LEDGER.derived_types)
def test_every_declared_entity_gets_values_that_derive(name: str) -> None:
    entities = simulate_ledger(LEDGER)
    for choice in range(4):
        image = entities.build_image(name, draw(entities, name, choice), 1)
        found = entities.find_plan(image)
        rows = derived_items.compute_index_rows(found, image)
        assert rows or contributions.compute_contributions(found, image)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_a_key_field_has_several_values(kind: str) -> None:
    listing = ListingPlan("of", 1, (Part("field"),), ("created_at",))
    entities = simulate(plan({"field": kind}, listings=(listing,)))
    drawn = {str(draw(entities, choice=choice)["field"]) for choice in range(3)}
    assert len(drawn) > 1
