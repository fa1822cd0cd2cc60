"""Values of a project's own types beside their JSON: written numbers, and plain notation."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, RootModel, TypeAdapter
from typing_extensions import TypedDict

from daicho.items.json_pairs import WrittenNumberError, check_written, write_plainly
from daicho.runtime.exact_json import InexactNumberError, parse_exactly


class Line(BaseModel):
    price: Decimal
    share: float = 0


class Prices(RootModel[list[Decimal]]):
    pass


class Tree(BaseModel):
    price: Decimal
    children: list[Tree] = []


class Renamed(BaseModel):
    price: Decimal = Field(alias="cost")


class Typed(TypedDict):
    price: Decimal


@dataclasses.dataclass
class Plain:
    price: Decimal


TYPES: list[tuple[Any, str, tuple[Any, ...]]] = [
    (Decimal, "%s", ()),
    (Line, '{"price":%s}', ("price",)),
    (list[Line], '[{"price":1},{"price":%s}]', (1, "price")),
    (dict[str, Line], '{"a":{"price":%s}}', ("a", "price")),
    (dict[int, Decimal], '{"1":%s}', ("1",)),
    (Prices, "[1,%s]", (1,)),
    (list[Prices], "[[%s]]", (0, 0)),
    (Tree, '{"price":1,"children":[{"price":1,"children":[{"price":%s}]}]}', ()),
    (Renamed, '{"cost":%s}', ("cost",)),
    (Typed, '{"price":%s}', ("price",)),
    (Plain, '{"price":%s}', ("price",)),
    (set[Decimal], "[%s]", (0,)),
    (tuple[Decimal, int], "[%s,1]", (0,)),
    (Line | None, '{"price":%s}', ("price",)),
    (Line | Prices, "[%s]", (0,)),
    (Annotated[Decimal, Field(ge=0)], "%s", ()),
]


@pytest.mark.parametrize(("annotation", "body", "path"), TYPES)
def test_text_is_a_decimal_in_every_type(annotation: Any, body: str, path: tuple[Any, ...]) -> None:
    adapter = TypeAdapter(annotation)
    for text, is_right in (('"1.5"', True), ("1.5", True), ("7", True), ('" 1 "', False)):
        written = body % text
        value = adapter.validate_json(written)
        if is_right:
            check_written(value, parse_exactly(written))
            continue
        with pytest.raises(WrittenNumberError, match='not " 1 "') as caught:
            check_written(value, parse_exactly(written))
        if path:
            assert caught.value.path == path


def test_a_whole_number_that_is_no_float_is_refused() -> None:
    written = '{"price":1,"share":9007199254740993}'
    line = Line.model_validate_json(written)
    with pytest.raises(InexactNumberError, match="9007199254740993") as caught:
        check_written(line, parse_exactly(written))
    assert caught.value.path == ("share",)
    check_written(line, parse_exactly('{"price":1,"share":9007199254740992}'))


@pytest.mark.parametrize(("annotation", "body", "path"), TYPES)
def test_every_type_is_written_without_exponents(
    annotation: Any, body: str, path: tuple[Any, ...]
) -> None:
    adapter = TypeAdapter(annotation)
    for number, plain in (("0.0000001", "0.0000001"), ("1E+3", "1000"), ("2.50", "2.50")):
        value = adapter.validate_json(body % f'"{number}"')
        text = write_plainly(
            adapter.dump_json(value).decode(),
            value,
            lambda value=value: adapter.dump_python(value, mode="json"),  # type: ignore[misc]
        )
        assert f'"{plain}"' in text
        assert "E" not in text
