"""Two declarations are one instance exactly if they derive the same from every image."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from daicho.derive.contributions import compute_contributions
from daicho.derive.derived_items import compute_index_rows
from daicho.layout.item_keys import UnderivableError
from daicho.plan import AggregatePlan, Condition, EntityPlan, KeyPlan, ListingPlan, Part, SearchPlan
from daicho.plan.instances import can_be_derived, describe_derivation, number_declarations
from daicho.storage.attributes import Image

KINDS = {"id": "str", "name": "str", "note": "str", "day": "date", "rank": "int", "tags": "set"}
TEXTS = ("Ada", "ada", "(株)台帳 12", "Acme Inc.", "b 1234", "03-1234-5678", "")
PAIRS, IMAGES = 200, 60


Declared = SearchPlan | ListingPlan | AggregatePlan


def draw_fields(source: random.Random) -> tuple[str, ...]:
    return tuple(source.sample(("name", "note"), source.choice((1, 2))))


def draw_search(source: random.Random) -> SearchPlan:
    fields = draw_fields(source)
    return SearchPlan(
        "declared",
        1,
        fields,
        source.choice(((1, 2), (2,))),
        digits=source.choice(((), (3,))),
        shards=source.choice((1, 2)),
        mode=source.choice(("prefix", "contains")),
        companies=source.choice(((), fields[:1])),
    )


def draw_part(source: random.Random) -> Part:
    name = source.choice(("name", "day", "rank", "tags"))
    bucket: Any = source.choice((None, "day", "month")) if name == "day" else None
    return Part(name, bucket, name == "name" and source.random() < 0.5, name == "tags")


def draw_parts(source: random.Random, least: int) -> tuple[Part, ...]:
    return tuple(draw_part(source) for _ in range(source.randint(least, 2)))


def draw_condition(source: random.Random) -> Condition | None:
    values = source.choice(((), ("a",), ("a", "b"), ("b", "a")))
    return Condition("note", values) if values else None


def draw_listing(source: random.Random) -> ListingPlan:
    return ListingPlan(
        "declared",
        1,
        draw_parts(source, 0),
        source.choice((("created_at",), ("rank",), ("day", "rank"), ("rank", "day"))),
        draw_condition(source),
        shards=source.choice((1, 1, 2)),
        copies=source.choice(((), ("id", "name"), ("name", "id"), ("id", "note"))),
    )


def draw_aggregate(source: random.Random) -> AggregatePlan:
    measure: Any = source.choice(("count", "sum"))
    return AggregatePlan(
        "declared",
        1,
        measure,
        "rank" if measure == "sum" else None,
        draw_parts(source, 0),
        draw_parts(source, 0),
        where=draw_condition(source),
        shards=source.choice((1, 2)),
    )


def swap_orders(declaration: Declared) -> Declared:
    """The same, written in another way."""
    match declaration:
        case SearchPlan():
            return replace(declaration, fields=declaration.fields[::-1])
        case ListingPlan():
            return replace(declaration, copies=declaration.copies[::-1])
        case AggregatePlan():
            parts = (*declaration.within, *declaration.by)
            return replace(declaration, within=parts, by=(), shards=3 - declaration.shards)


def build_plan(declaration: Declared, kinds: dict[str, str]) -> EntityPlan:
    plan = EntityPlan("Thing", kinds, KeyPlan(("id",), ()))
    match declaration:
        case SearchPlan():
            return replace(plan, searches=(declaration,))
        case ListingPlan():
            return replace(plan, listings=(declaration,))
        case AggregatePlan():
            return replace(plan, aggregates=(declaration,))


def draw_image(source: random.Random) -> Image:
    values: dict[str, Any] = {
        "name": {"S": source.choice(TEXTS)},
        "note": {"S": source.choice(("a", "b", *TEXTS))},
        "day": {"S": source.choice(("2026-11-01", "2026-11-02", "2026-12-01"))},
        "rank": {"N": source.choice(("0", "1", "12"))},
        "tags": {"SS": source.choice((["x"], ["x", "y"]))},
    }
    present = {name: value for name, value in values.items() if source.random() < 0.85}
    id = str(source.randint(1, 30))
    fixed = {
        "PK": f"t#Thing#{id}",
        "SK": "-",
        "id": id,
        "created_at": "2026-11-21T00:00:00.000001Z",
    }
    return {**present, **{name: {"S": text} for name, text in fixed.items()}}


def derive(plan: EntityPlan, image: Image) -> object:
    try:
        return compute_index_rows(plan, image), compute_contributions(plan, image)
    except UnderivableError:
        return "underivable"


@pytest.mark.parametrize("draw", [draw_search, draw_listing, draw_aggregate])
def test_what_derives_alike_is_one_instance_and_nothing_else_is(
    draw: Callable[[random.Random], Declared],
) -> None:
    source = random.Random(19)
    images = [draw_image(source) for _ in range(IMAGES)]
    found = {True: 0, False: 0}
    for _ in range(PAIRS):
        one = draw(source)
        other = source.choice((draw(source), one, swap_orders(one)))
        # A field that is stored in the same way may have another type.
        wider = {"name": source.choice(("str", "date", "datetime"))}
        kinds = {**KINDS, **wider, "rank": source.choice(("int", "int", "decimal"))}
        plan, changed = build_plan(one, KINDS), build_plan(other, kinds)
        is_one = describe_derivation(plan, one) == describe_derivation(changed, other)
        alike = all(derive(plan, image) == derive(changed, image) for image in images)
        assert is_one == alike, (one, other)
        found[is_one] += 1
        numbered = number_declarations(changed, plan, 2)
        assert numbered.derived_instances >= {("declared", 1 if is_one else 2)}
        assert bool(numbered.retiring) is (not is_one and can_be_derived(plan, one, kinds))
    assert min(found.values()) > 10, found
