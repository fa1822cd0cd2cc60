"""Scales: what DynamoDB would drop is stored, and a decimal reads as it was written."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from daicho.storage import attributes
from daicho.storage.scales import (
    MAX_PLACES,
    NO_PLACES,
    SCALES,
    DeclaredPlaces,
    find_scales,
    replace_scales,
    restore_scales,
    select_scales,
    to_scales_value,
)


def normalise(value: Any) -> Any:
    """A value as DynamoDB returns it: numbers without trailing zeros."""
    match value:
        case Decimal():
            plain = value.normalize() if value else Decimal(0)
            return int(plain) if plain == plain.to_integral_value() else plain
        case dict():
            return {name: normalise(member) for name, member in value.items()}
        case list():
            return [normalise(member) for member in value]
    return value


def read_again(name: str, value: Any, declared: DeclaredPlaces = NO_PLACES) -> Any:
    """A field's value after it was stored, with the scales that were stored with it."""
    scales = find_scales(name, value, declared)
    image = {SCALES: to_scales_value(scales)} if scales else {}
    return restore_scales({name: normalise(value)}, image, {name: declared})[name]


def test_nested_places_and_stored_scales_meet() -> None:
    declared = DeclaredPlaces(each=DeclaredPlaces(members={"price": DeclaredPlaces(2)}))
    value = [{"price": Decimal("7.1"), "weight": Decimal("0.50")}]
    assert find_scales("lines", value, declared) == {"lines/0/weight": 2}
    assert read_again("lines", value, declared) == [
        {"price": Decimal("7.10"), "weight": Decimal("0.50")}
    ]
    assert str(read_again("lines", value, declared)[0]["price"]) == "7.10"


def test_scales_of_other_fields_are_kept() -> None:
    image = {"a": {"N": "1"}, SCALES: to_scales_value({"a": 2, "a/0": 3, "ab": 1})}
    assert select_scales(image, {"a"}) == {"a": 2, "a/0": 3}
    changed = replace_scales(image, {"a"}, {"a": 5})
    assert changed[SCALES] == to_scales_value({"a": 5, "ab": 1})
    assert SCALES not in replace_scales(image, {"a", "ab"}, {})


@pytest.mark.parametrize("text", ["0E-5000", "0E+5000", "-0.00", "1E+2", "NaN"])
def test_numbers_at_the_limits(text: str) -> None:
    scales = find_scales("n", Decimal(text))
    assert all(places <= MAX_PLACES for places in scales.values())
    assert scales == {"0E-5000": {"n": MAX_PLACES}, "-0.00": {"n": 2}}.get(text, {})
    if scales:
        attributes.measure_image({SCALES: to_scales_value(scales)})
