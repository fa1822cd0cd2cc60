"""The price of a rebuild: from a sample, and of both sides of a generation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from daicho.plan import Condition, EntityPlan, ExpiryPlan, FieldPlan, Migration, MigrationPlan
from daicho.plan.changes import Effect
from daicho.storage.attributes import Image, get_key, to_image
from daicho_cli.aws import TableSize
from daicho_cli.cost.prices import load_prices
from daicho_cli.plan.changes import EntityChange, list_entity_changes
from daicho_cli.plan.items import EntityItems, ItemCount, ItemsRead, LimitCheck
from daicho_cli.plan.rebuild import RebuildEstimate, estimate_entity, estimate_rebuild
from tests.support.sample_members import number
from tests.unit.daicho_cli.plan.plans import COUNT, LISTED, PLAIN, make_stage

PRICES = load_prices()


def make_image(number: int, **values: object) -> Image:
    key = {"PK": f"acme#User#{number:026d}", "SK": "-", "created_at": "2026-11-21T00:00:00.000000Z"}
    fields = {"id": f"{number:026d}", "name": "Ada", "country": "uk", "type": "User", "gen": 1}
    return to_image({**key, **fields, **values})


IMAGES = [make_image(n) for n in range(10)]


def change(*plans: EntityPlan, deployed: int = 1) -> EntityChange:
    (changed,) = list_entity_changes(number(*plans), make_stage({"User": deployed}), {})
    return changed


def read(images: list[Image], *, scanned: int, is_whole: bool = False) -> ItemsRead:
    items = EntityItems(len(images), list(images))
    return ItemsRead({"User": items}, 1, scanned, 1.0, is_whole)


def price(estimate: RebuildEstimate) -> float:
    written = estimate.touch_units + estimate.derived_units
    return PRICES.price_units(estimate.read_units, written)


def test_the_units_of_a_sample_are_those_of_all_items() -> None:
    added = change(PLAIN, replace(PLAIN, listings=(LISTED,)))
    size = TableSize(items=40_000, bytes=1)
    rebuild = estimate_entity(added, read(IMAGES, scanned=40), size, PRICES)
    assert (rebuild.items, rebuild.sampled) == (ItemCount(10_000, "estimated"), 10)
    assert rebuild.declarations == ("listed",)
    assert rebuild.estimate.touch_units == 10_000
    assert rebuild.estimate.row_units == 2 * 10_000  # the row, and its entry in the index
    assert rebuild.estimate.seconds == 20
    assert rebuild.estimate.dollars == pytest.approx(price(rebuild.estimate))


def test_an_aggregate_that_retires_before_it_is_complete_is_counted_too() -> None:
    counts = (COUNT, replace(COUNT, where=Condition("name", ("Ada",))))
    plans = (PLAIN, *(replace(PLAIN, aggregates=(count,)) for count in counts))
    one, both = (change(*plans[:last]) for last in (2, 3))
    single, double = (
        estimate_rebuild(each.plan, each.incomplete, IMAGES, 1_000, PRICES) for each in (one, both)
    )
    # Each batch is announced once, and writes a slot of both.
    assert single.count_units < double.count_units < 2 * single.count_units


def test_the_check_of_a_scan_replaces_that_of_the_sample() -> None:
    added = change(PLAIN, replace(PLAIN, listings=(LISTED,)))
    check = LimitCheck(checked=5_000)
    images = read(IMAGES, scanned=10, is_whole=True)
    assert estimate_entity(added, images, TableSize(), PRICES, check).check is check


def test_a_migration_costs_the_size_of_the_items_that_it_writes() -> None:
    fill = MigrationPlan("fill", 0, ("about",))
    migrated = replace(PLAIN, migrations=(fill,))
    functions = {
        "User.fill": Migration("User", "fill", ("about",), lambda user: {"about": user["long"]})
    }
    ledger = replace(
        number(PLAIN, migrated),
        functions=functions,
        fields={"User": {"long": FieldPlan("str", False), "about": FieldPlan("str", False)}},
    )
    (filled,) = list_entity_changes(ledger, make_stage({"User": 1}), {})
    assert (filled.needs_rebuild, filled.incomplete) == (True, frozenset())
    images = [make_image(n, long="x" * 600) for n in range(9)]
    read_items = read([*images, make_image(9)], scanned=10, is_whole=True)
    rebuild = estimate_entity(filled, read_items, TableSize(), PRICES)
    assert rebuild.declarations == ("fill",)
    assert rebuild.estimate.touch_units == 20  # over a KB
    assert rebuild.check.impossible.keys == [get_key(make_image(9))]
    (description,) = (each.description for each in filled.changes)
    assert "read with the about that it computes" in description


def test_items_that_expire_with_their_touch_are_counted() -> None:
    shorter = change(PLAIN, replace(PLAIN, expires=ExpiryPlan(3_600, archive=False)))
    images = read(
        [make_image(1), make_image(2, created_at="9999-01-01T00:00:00.000000Z")], scanned=2
    )
    rebuild = estimate_entity(shorter, images, TableSize(), PRICES)
    assert rebuild.declarations == ("expires",)
    assert rebuild.check.expiring.keys == [get_key(make_image(1))]
    assert shorter.changes[0].change.effect is Effect.KEPT_SHORTER


@pytest.mark.parametrize(
    ("before", "after", "effect"),
    [
        ({}, {"where": Condition("name", ("x",))}, Effect.KEPT_LONGER),
        ({"where": Condition("name", ("x",))}, {}, Effect.KEPT_SHORTER),
        ({}, {"of": "_changed_at"}, Effect.KEPT_OTHERWISE),
    ],
)
def test_another_rule_is_accepted_unless_no_item_expires_earlier(
    before: dict[str, Any], after: dict[str, Any], effect: Effect
) -> None:
    old, new = (
        replace(PLAIN, expires=ExpiryPlan(3_600, archive=False, **rule)) for rule in (before, after)
    )
    (described,) = change(old, new).changes
    assert described.change.effect is effect
    assert effect.hides_data is (effect is not Effect.KEPT_LONGER)


def test_no_items_cost_nothing() -> None:
    added = change(PLAIN, replace(PLAIN, listings=(LISTED,)))
    rebuild = estimate_entity(added, read([], scanned=3), TableSize(items=3), PRICES)
    assert (rebuild.items, rebuild.estimate.dollars) == (ItemCount(0, "estimated"), 0)
