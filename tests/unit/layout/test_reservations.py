"""Reservations: their keys, what an item owns, and whether an owner holds a value."""

from __future__ import annotations

from dataclasses import replace

import pytest

from daicho.layout import reservations
from daicho.layout.base_item import build_base_item
from daicho.layout.reservations import ReservedValueError
from daicho.plan import EntityPlan, Generation, KeyPlan, Ledger, UniquePlan
from daicho.storage.attributes import Image
from tests.support.table_books import NOON

ONE = UniquePlan("one", 1, ("name", "number"), ("org",))
PLAN = EntityPlan("User", {"name": "str", "number": "int", "org": "str"}, KeyPlan(("id",), ()))
FIRST = Generation(1, PLAN)
SECOND = Generation(2, replace(PLAN, uniques=(replace(ONE, since=2),)))
LEDGER = Ledger({"User": (FIRST, SECOND)})
NOW = int(NOON.timestamp())
PLAIN = {"id": {"S": "1"}, "name": {"S": "Ada"}, "number": {"N": "7"}, "org": {"S": "o"}}


def build_image(generation: Generation = SECOND, **fields: dict[str, str]) -> Image:
    return build_base_item("t", generation, {**PLAIN, **fields}, NOON)


def test_a_value_that_is_too_long_names_its_field() -> None:
    with pytest.raises(ReservedValueError, match="because its value is unique") as refused:
        reservations.build_reservations(SECOND.plan, build_image(org={"S": "x" * 2048}))
    assert refused.value.field == "org"


@pytest.mark.parametrize(
    ("fold", "texts", "count"),
    [
        ("none", ("Ada", "ada"), 2),
        ("case", ("Straße", "STRASSE", "strasse"), 1),
        ("case", ("É", "e\u0301", "é"), 1),
        ("case", ("é", "e"), 2),
        ("full", ("É", "e", "E", " e "), 1),
        ("full", ("カナ", "かな", "ｶﾅ"), 1),
    ],
)
def test_texts_that_are_one_value(fold: str, texts: tuple[str, ...], count: int) -> None:
    unique = UniquePlan("one", 1, ("name",), ("org",), fold)  # type: ignore[arg-type]
    images = [{"name": {"S": text}, "org": {"S": "Org"}} for text in texts]
    found = {reservations.build_reservation_key("t", PLAN, unique, image) for image in images}
    assert len(found) == count


def test_only_a_live_owner_holds_a_value() -> None:
    image = build_image()
    (key,) = reservations.build_reservations(SECOND.plan, image)
    expired = {**image, "ttl": {"N": str(NOW)}}
    other = build_image(name={"S": "Bob"})
    held = [reservations.is_held(LEDGER, each, key, NOW) for each in (None, expired, other, image)]
    assert held == [False, False, False, True]


def test_a_change_that_keeps_the_reservations() -> None:
    image = build_image()
    for changed, expected in (
        ({"note": {"S": "x"}}, True),
        ({"name": {"S": "Bob"}}, False),
        ({"ttl": {"N": "9"}}, False),
    ):
        kept = reservations.is_unchanged(LEDGER, image, {**image, **changed}, SECOND.plan, NOW)
        assert kept is expected
    for stored in ({**image, "ttl": {"N": str(NOW)}}, build_image(FIRST)):
        assert not reservations.is_unchanged(LEDGER, stored, stored, SECOND.plan, NOW)
