"""Attribute values: plain values to DynamoDB's and back, exact, and how much they take."""

from decimal import Decimal
from typing import Any

import pytest

from daicho.storage import attributes


def test_numbers_are_never_rounded() -> None:
    assert attributes.parse_number("1e100") == Decimal("1e100")
    assert attributes.from_value({"N": "9" * 38}) == int("9" * 38)
    assert attributes.to_value(0.1) == {"N": "0.1"}
    with pytest.raises(ValueError, match="38 digits"):
        attributes.to_value(int("9" * 39))
    with pytest.raises(ValueError, match="infinity"):
        attributes.to_value(Decimal("NaN"))


def test_a_number_with_a_fraction_is_no_integer() -> None:
    with pytest.raises(ValueError, match="whole"):
        attributes.get_integer({"n": {"N": "1.5"}}, "n")


@pytest.mark.parametrize("value", [object(), {1, 2}, b"bytes"])
def test_what_dynamodb_or_we_do_not_store(value: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        attributes.to_value(value)
