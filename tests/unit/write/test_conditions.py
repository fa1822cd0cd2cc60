"""Writes as they are built: what is absent, what is kept, what is refused."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel

from daicho import (
    Aggregate,
    Domain,
    Edge,
    Entity,
    Expires,
    Key,
    Listing,
    Sum,
    copied,
    field,
    ref,
    refs,
    uid,
)
from daicho.declare.entity import values_of
from daicho.declare.registry import Daicho
from daicho.errors import Invalid
from daicho.items.mapper import NULL, UnreadableError, item_of, values_image
from daicho.layout.base_item import complete, expired
from daicho.plan import Ledger
from daicho.storage.attributes import Image
from daicho.write.conditions import creation, removal, replacement
from daicho.write.validation import check

NOON = dt.datetime(2026, 11, 21, 12, 0, 0, 123456, tzinfo=dt.UTC)


class Part(BaseModel):
    name: str
    weight: Decimal = Decimal(1)


class Owner(Entity):
    id: str = uid()
    name: str | None = None

    key = Key(id)


class Thing(Entity):
    id: str = uid()
    owner: str = ref(Owner)
    name: str | None = copied(owner, Owner.name)
    origin: str | None = field(default=None, frozen=True)
    colour: str | None = "red"
    labels: set[str] = refs(Owner)
    others: set[str] = field(default={"x"})
    size: int = field(default=0)
    weight: Decimal = field(default=Decimal(0))
    ratio: float = 0.5
    due: dt.date | None = None
    at: dt.datetime | None = None
    parts: list[Part] = field(default=[])
    extra: dict[str, Any] = field(default={})

    key = Key(owner, id)
    of_size = Listing(size)
    mass = Aggregate(Sum(weight), owner)
    due_weight = Aggregate(Sum(size), on_expiry="subtract")


class Short(Entity):
    a: str = field()
    b: str = field()

    key = Edge(a, b)
    expires = Expires(dt.timedelta(seconds=90))


LEDGER = Daicho(Domain("test", Owner, Thing, Short)).appended(Ledger())
THING, SHORT = LEDGER.current("Thing"), LEDGER.current("Short")


def image_of(item: Entity) -> dict[str, Any]:
    entity = type(item)
    fields = values_image(entity, values_of(item))
    return complete("acme", LEDGER.current(entity.__name__), fields, NOON)


def test_a_field_without_a_value_is_absent_unless_that_would_mean_something_else() -> None:
    image = image_of(Thing(id="t", owner="o", colour=None, others=set()))
    assert "due" not in image
    assert "labels" not in image
    # Set once, and seen to be set; a default that is not what the item holds.
    assert image["name"] == image["origin"] == image["colour"] == image["others"] == NULL
    got = item_of(Thing, image)
    assert (got.due, got.labels, got.colour, got.others, got.origin) == (
        None,
        set(),
        None,
        set(),
        None,
    )


def test_values_of_all_kinds_come_back() -> None:
    thing = Thing(
        id="t",
        owner="o",
        labels={"b", "a"},
        size=-7,
        weight=Decimal("1.250"),
        ratio=0.1,
        due=dt.date(2026, 2, 28),
        at=dt.datetime(2026, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=9))),
        parts=[Part(name="wheel", weight=Decimal("2.5"))],
        extra={"deep": [{"x": [1, 2.5, None, True, "s", {}]}]},
    )
    got = item_of(Thing, image_of(thing))
    assert values_of(got) == values_of(thing)
    assert (got.created_at, got.version) == (NOON, 1)


def test_what_the_library_keeps_beside_the_fields() -> None:
    image = image_of(Short(a="a#1", b="b"))
    assert image["PK"] == {"S": "acme#Short#a$231"}
    assert (image["GSI1PK"], image["GSI1SK"]) == ({"S": "acme#Short#b"}, {"S": "a$231"})
    assert image["type"] == {"S": "Short"}
    assert image["created_at"] == {"S": "2026-11-21T12:00:00.123456Z"}
    assert image["ttl"] == {"N": str(int(NOON.timestamp()) + 90)}
    assert not expired(image, int(NOON.timestamp()) + 89)
    assert expired(image, int(NOON.timestamp()) + 90)
    assert not expired(image_of(Owner()), 10**12)


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"owner": "o" * 2040}, "owner"),
        ({"id": "o" * 1025}, "id"),
        ({"owner": "\u3042" * 700}, "owner"),
    ],
)
def test_a_key_that_does_not_fit_names_its_longest_field(values: dict[str, Any], name: str) -> None:
    with pytest.raises(Invalid) as error:
        image_of(Thing(**({"id": "i", "owner": "o"} | values)))
    assert error.value.field == name


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"size": 10**19}, "size"),
        ({"weight": Decimal(10) ** 19}, "weight"),
        ({"weight": Decimal("1e-10")}, "weight"),
        ({"extra": {"x": "x" * 500_000}}, "extra"),
    ],
)
def test_what_could_not_be_derived_is_refused(values: dict[str, Any], name: str) -> None:
    image = image_of(Thing(id="i", owner="o", **values))
    with pytest.raises(Invalid) as error:
        check(THING.plan, image)
    assert error.value.field == name


@pytest.mark.parametrize(
    "wrong",
    [
        {"weight": Decimal("1.23456789012345678901234567890123456789")},
        {"weight": Decimal("1e130")},
        {"weight": Decimal("1e-140")},
        {"extra": {"x": float("nan")}},
        {"extra": {"x": {1}}},
        {"extra": {"x": "\udc00"}},
        {"extra": {"\udc00": 1}},
        {"extra": {"": 1}},
        {"extra": {"x": dt.time(1)}},
        {"at": dt.datetime(2026, 1, 1)},  # noqa: DTZ001
    ],
)
def test_what_dynamodb_has_no_place_for_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(Invalid) as error:
        image_of(Thing(id="i", owner="o", **wrong))
    assert error.value.field == next(iter(wrong))


def test_nesting_is_bounded() -> None:
    deep: Any = {}
    for _ in range(31):
        deep = {"x": deep}
    image_of(Thing(id="i", owner="o", extra=deep))
    with pytest.raises(Invalid, match="32 levels"):
        image_of(Thing(id="i", owner="o", extra={"x": deep}))


def test_an_item_that_its_entity_cannot_read_is_no_callers_fault() -> None:
    image = image_of(Thing(id="i", owner="o")) | {"size": {"S": "large"}}
    with pytest.raises(UnreadableError, match="acme#Thing#o"):
        item_of(Thing, image)


def test_the_requests_of_a_write() -> None:
    image: Image = {"PK": {"S": "p"}, "SK": {"S": "s"}, "version": {"N": "1"}, "f": {"S": "f"}}
    write = creation(image, 5, replaces_expired=True)
    assert write.condition == "attribute_not_exists(#n0) OR #n1 <= :0"
    assert write.names == {"#n0": "PK", "#n1": "ttl"}
    write = creation(image, 5, replaces_expired=False)
    assert write.condition == "attribute_not_exists(#n0)"
    write = removal(5, 3)
    assert write.condition == (
        "attribute_exists(#n1) AND (attribute_not_exists(#n0) OR #n0 > :0) AND #n2 = :1"
    )
    write = replacement(
        image, THING.plan, absent=["due"], kept={"f": image["f"]}, now=None, if_match=None
    )
    assert write.update == ("SET #n0 = if_not_exists(#n0, :1) + :0, #n1 = :2 REMOVE #n2, #n3")
    assert write.condition == "attribute_not_exists(#n4) OR (#n1 = :3)"
    assert list(write.names.values()) == ["version", "f", "due", "ttl", "PK"]
    write = replacement(image, SHORT.plan, absent=(), kept={}, now=9, if_match=4)
    assert write.condition == "#n0 = :4 AND (attribute_not_exists(#n2) OR #n2 > :3)"
