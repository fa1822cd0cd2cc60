"""Units of writes, as the pages of the declarations state them."""

from __future__ import annotations

from typing import Any

import pytest

from daicho import Domain, Entity, Key, StoredObject, copied, field, ref, stored_object, uid
from daicho.declare.registry import Daicho
from daicho.plan import Generation, Ledger, UniquePlan
from daicho_cli.cost.examples import ItemEvent, list_events
from daicho_cli.cost.traffic import Assumptions, ChangeTraffic, EntityTraffic, Traffic
from daicho_cli.cost.units import Units
from daicho_cli.cost.writes import (
    EntityShape,
    describe_entities,
    estimate_item_write,
    estimate_section_change,
)
from tests.unit.daicho_cli.cost.plans import VALUES, WEEK, generation

PLAIN = EntityShape()


def events_of(
    declared: Generation, values: dict[str, Any] | None = None, **described: Any
) -> list[ItemEvent]:
    entity = EntityTraffic(examples=(values or VALUES,), **described)
    return list_events(declared, Traffic(entities={declared.plan.name: entity}))


def estimate(
    declared: Generation,
    shape: EntityShape = PLAIN,
    values: dict[str, Any] | None = None,
    misses: float = 1.0,
    **described: Any,
) -> Units:
    """The units of the one event that is described."""
    (event,) = events_of(declared, values, **described)
    assumed = Assumptions(cache_misses=misses)
    return estimate_item_write(declared.plan, shape, event, assumed)


def change(method: str = "PATCH", **fields: Any) -> dict[str, Any]:
    return {"changes": (ChangeTraffic(1, fields, method),)}  # type: ignore[arg-type]


def test_a_plain_item() -> None:
    assert estimate(generation(), creates=1) == Units(0, 1)
    assert estimate(generation(), **change(title="x")) == Units(1, 1)
    assert estimate(generation(), **change("PUT", title="x")) == Units(0, 1)
    assert estimate(generation(), deletes=1) == Units(0, 1)
    assert estimate(generation(expires=WEEK), expiries=1) == Units()
    assert estimate(generation(), values={"title": "x" * 2_500}, creates=1) == Units(0, 3)


def test_a_unique_value_is_written_with_its_item() -> None:
    named = generation(uniques=(UniquePlan("one_title", 1, ("title",)),))
    assert estimate(named, creates=1) == Units(1, 4)
    assert estimate(named, **change(title="x")) == Units(1, 6)
    assert estimate(named, **change(artist="x")) == Units(1, 1)
    assert estimate(named, deletes=1) == Units(1, 4)


@pytest.mark.parametrize(
    ("mode", "size", "create", "replace", "remove"),
    [
        # Read and write units.
        ("copy", 500, (2, 4), (1, 4), (1, 4)),
        ("pointer", 500, (1, 4), (1, 4), (1, 4)),
        ("copy", 3_500, (2, 16), (1, 16), (1, 10)),
        ("pointer", 3_500, (1, 10), (1, 10), (1, 4)),
        ("copy", 40_000, (2, 160), (10, 160), (10, 82)),
        ("pointer", 40_000, (1, 82), (10, 82), (10, 4)),
    ],
)
def test_versions(
    mode: str,
    size: int,
    create: tuple[float, float],
    replace: tuple[float, float],
    remove: tuple[float, float],
) -> None:
    article, values = generation(versions=mode), {"title": "x" * size}
    assert estimate(article, values=values, creates=1) == Units(*create)
    changed = change(title="y" * size)
    assert estimate(article, values=values, **changed) == Units(*replace)
    assert estimate(article, values=values, deletes=1) == Units(*remove)


@pytest.mark.parametrize(
    ("count", "put", "again", "delete"),
    [
        # Write and read units.
        (10, (20, 1), (30, 4), (17, 4)),
        (100, (110, 1), (210, 25), (107, 25)),
    ],
)
def test_sections(
    count: int, put: tuple[float, float], again: tuple[float, float], delete: tuple[float, float]
) -> None:
    document = generation("Document", split="sections")
    text = "a section of less than a KB. " * 30
    values = {"sections": {f"section {n:04d}": text for n in range(count)}}

    def reversed_units(units: Units) -> tuple[float, float]:
        return units.write, round(units.read)

    assert reversed_units(estimate(document, values=values, creates=1)) == put
    whole = change("PUT", title="x")
    assert reversed_units(estimate(document, values=values, **whole)) == again
    assert reversed_units(estimate(document, values=values, deletes=1)) == delete
    assert estimate(document, values=values, **change(title="x")) == Units(1, 1)
    (event,) = events_of(document, values, creates=1)
    assert estimate_section_change(document.plan, event) == Units(2, 4)


def test_a_document_without_sections_in_its_example_has_none_to_change() -> None:
    document = generation("Document", split="sections")
    (event,) = events_of(document, creates=1)
    assert estimate_section_change(document.plan, event) == Units()


def test_an_item_with_an_object_is_removed_with_a_mark_that_the_sweep_removes() -> None:
    shape = EntityShape(object_fields=("image",))
    assert estimate(generation("Photo"), shape, deletes=1) == Units(1 + 2, 2 + 3 + 2)
    assert estimate(generation("Photo"), shape, creates=1) == Units(0, 1)


class Poll(Entity):
    """A poll."""

    id: str = uid()
    shards: int = field(frozen=True)

    key = Key(id)


class Ballot(Entity):
    """A ballot, whose place depends on its poll."""

    poll: str = ref(Poll)
    voter: str = field()
    shards: int = copied(poll, Poll.shards)
    image: StoredObject = stored_object(max_bytes=10, types=("image/png",))

    key = Key(poll, voter, shards=shards)


def test_a_key_that_depends_on_another_item_is_seen_and_so_are_objects() -> None:
    polls = Daicho(Domain("polls", Poll, Ballot))
    shapes = describe_entities(polls.entities, polls.append_generations(Ledger()))
    ballot = EntityShape(copied={"shards": True}, keyed=True, object_fields=("image",))
    assert shapes["Ballot"] == ballot
    assert not shapes["Poll"].keyed
