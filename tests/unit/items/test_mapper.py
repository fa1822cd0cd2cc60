"""Items to images and back: values of every kind, what is absent, and what is refused."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from daicho import Entity, Key, field
from daicho.errors import Invalid, UnreadableError
from daicho.items.mapper import to_field_image, to_item
from daicho.plan import Ledger
from tests.support.item_images import Thing, image_of


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


def test_instants_that_leave_the_calendar_are_refused() -> None:
    class Meeting(Entity):
        id: str = field()
        at: dt.datetime = field()

        key = Key(id)

    first = dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=9)))
    with pytest.raises(Invalid) as error:
        to_field_image(Meeting, {"id": "m", "at": first})
    assert error.value.field == "at"


def test_an_item_that_its_entity_cannot_read_is_no_callers_fault() -> None:
    image = image_of(Thing(id="i", owner="o")) | {"size": {"S": "large"}}
    with pytest.raises(UnreadableError, match="size cannot be read: it is stored as a string"):
        to_item(Thing, image, Ledger())
