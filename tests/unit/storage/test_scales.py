"""Scales: what DynamoDB would drop is stored, and a decimal reads as it was written."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daicho.storage import attributes
from daicho.storage.scales import (
    MAX_PLACES,
    NO_PLACES,
    SCALES,
    DeclaredPlaces,
    find_scales,
    pad_decimal,
    replace_scales,
    restore_scales,
    select_scales,
    to_scales_value,
)

DECIMALS = st.builds(
    lambda number, places: Decimal(number).scaleb(-places),
    st.integers(-(10**12), 10**12),
    st.integers(0, 15),
)
NAMES = st.text("a/~0.é", max_size=3)
NESTED = st.recursive(
    DECIMALS | st.booleans() | st.text(max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
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


@given(NESTED)
def test_a_value_reads_as_it_was_written(value: Any) -> None:
    read = read_again("field", value)
    assert read == value
    assert repr(read) == repr(with_plain_integers(value))


def with_plain_integers(value: Any) -> Any:
    """A whole number without places is read as int, as before; the model makes it a Decimal."""
    match value:
        case Decimal() if value.as_tuple().exponent == 0:
            return int(value)
        case dict():
            return {name: with_plain_integers(member) for name, member in value.items()}
        case list():
            return [with_plain_integers(member) for member in value]
    return value


@given(DECIMALS, st.integers(1, 6))
def test_declared_places_store_nothing_and_pad(value: Decimal, places: int) -> None:
    declared = DeclaredPlaces(places)
    rounded = value.quantize(Decimal(1).scaleb(-places))
    rounded = rounded or abs(rounded)  # DynamoDB has no negative zero
    assert find_scales("price", rounded, declared) == {}
    assert repr(read_again("price", rounded, declared)) == repr(rounded)


@given(DECIMALS, st.integers(0, 40))
def test_padding_is_exact(value: Decimal, places: int) -> None:
    padded = pad_decimal(value, places)
    assert padded == value
    assert -padded.as_tuple().exponent >= min(places, -value.as_tuple().exponent)  # type: ignore[operator]


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
