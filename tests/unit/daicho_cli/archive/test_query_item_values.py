"""Archived items as values: decimals as the API shows them, and everything else as it is stored."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from daicho import Domain, Entity, Key, field
from daicho.declare.registry import Daicho
from daicho.items.mapper import replace_fields
from daicho.plan import Ledger
from daicho.web.http.item_json import render_image
from daicho_cli.archive.query import format_item, to_plain


class Priced(Entity):
    id: str = field()
    price: Decimal | None = field(default=None, decimal_places=2)
    weight: Decimal | None = field(default=None)
    lines: list[dict[str, Decimal]] | None = None
    pieces: int | None = None

    key = Key(id)


LEDGER = Daicho(Domain("prices", Priced)).append_generations(Ledger())
DECIMALS = ("0", "7", "7.10", "7.1", "100", "0.00", "-3.50", "12345678901234567.89", "1.000")


def archive(**values: Any) -> dict[str, Any]:
    """An archived image, as DynamoDB has stored it: without zeros at the end of places."""
    head = {"created_at": {"S": "2026-11-01T00:00:00.000000Z"}, "version": {"N": "1"}}
    image = replace_fields(Priced, {**head, "gen": {"N": "1"}}, {"id": "a", **values})
    stored: dict[str, Any] = json.loads(json.dumps(image), object_hook=_drop_zeros)
    return stored


def _drop_zeros(value: dict[str, Any]) -> dict[str, Any]:
    if set(value) == {"N"}:
        number = Decimal(value["N"])
        whole = number == number.to_integral_value()
        return {"N": str(int(number) if whole else number.normalize())}
    return value


@pytest.mark.parametrize("text", DECIMALS)
def test_a_decimal_is_shown_as_the_api_shows_it(text: str) -> None:
    value = Decimal(text)
    price = value if value.as_tuple().exponent >= -2 else None  # type: ignore[operator]
    image = archive(price=price, weight=value, lines=[{"a": value, "b": Decimal("2.50")}], pieces=7)
    shown = json.loads(render_image(Priced, image, LEDGER))
    formatted = format_item(image, Priced)
    assert "_scales" not in formatted
    for name in ("weight", "lines", "pieces"):
        assert formatted[name] == shown[name]
    assert formatted.get("price") == shown["price"]
    assert formatted["weight"] == text


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ({"N": "19.90"}, 19.9),
        ({"N": "1E+100"}, 1e100),
        ({"N": "0.12345678901234567890"}, "0.12345678901234567890"),
        ({"N": "9" * 38}, int("9" * 38)),
        ({"NS": ["10", "9"]}, [9, 10]),
        ({"N": "NaN"}, "NaN"),
        ({"N": "-Infinity"}, "-Infinity"),
        ({"N": "1E+999999"}, "1E+999999"),
        ({"B": "AAE="}, "AAE="),
        ("text", "text"),
    ],
)
def test_a_number_is_a_number_unless_a_reader_would_change_it(stored: Any, shown: Any) -> None:
    assert to_plain(stored) == shown
