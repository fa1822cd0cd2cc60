"""The JSON of images and objects against the JSON that Pydantic writes of the objects.

Broken on purpose before it was trusted; each of these is found: an instant with its zeros, the
zeros of a decimal left out, stored scales ignored, a number with an exponent as it is stored, a
hidden field shown, a hidden field that is not checked, a set as it is stored, NULL of a set as
null, a value outside of a Literal shown, a default left out, a lone surrogate written.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Literal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic_core import PydanticSerializationError

from daicho import Entity, Key, Search, Versioned, copied, field, ref, refs, uid
from daicho.declare.entity import restore_item
from daicho.errors import StoreError
from daicho.items.mapper import to_item
from daicho.plan import Ledger
from daicho.storage import attributes
from daicho.storage.scales import SCALES
from daicho.web.http import item_json
from daicho.web.schema import models
from tests.support.item_images import Bag

ERRORS = (StoreError, ValueError, PydanticSerializationError, AttributeError, KeyError, TypeError)
NOON = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)


class Station(Entity):
    """Something to refer to."""

    id: str = uid()
    town: str = field(default="")

    key = Key(id)


class Every(Entity):
    """A field of every plain kind, with and without None, defaults and limits."""

    id: str = uid()
    text: str = field(max_length=5, min_length=1)
    note: str | None = None
    colour: Literal["red", "grün"] = field(default="red")
    shade: Literal["a", 'b"'] | None = None
    size: int = field(ge=0, le=9, default=7)
    count: int | None = None
    flag: bool = False
    maybe: bool | None = None
    day: dt.date = field()
    until: dt.date | None = None
    at: dt.datetime = field()
    seen: dt.datetime | None = None
    price: Decimal = field(default=Decimal("1.50"), decimal_places=2)
    weight: Decimal | None = None
    station: str = ref(Station)
    town: str = copied(station, Station.town)
    stations: set[str] = refs(Station)
    tags: set[str] | None = None
    secret: int = field(hidden=True)

    key = Key(id)
    search = Search(text)
    versions = Versioned("copy")


class Plainest(Entity):
    """As few fields as there can be."""

    id: str = uid()

    key = Key(id)


texts = st.text(st.characters(exclude_categories=()), max_size=8)
numbers = st.one_of(
    st.integers(-(10**40), 10**40).map(str),
    st.decimals(allow_nan=False, allow_infinity=False, places=None).map(str),
    st.sampled_from(["0", "-0", "7", "07", "7.0", "0.0000001", "1E+3", "1e-7", "1E-130", "12.50"]),
)
instants = st.one_of(
    st.datetimes(timezones=st.just(dt.UTC)).map(lambda at: at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")),
    st.datetimes(timezones=st.just(dt.UTC)).map(lambda at: at.replace(microsecond=0).isoformat()),
    st.sampled_from(
        [
            "2026-02-30T00:00:00.000000Z",
            "2026-01-01T24:00:00.000000Z",
            "2026-01-01T00:00:00.000000Z",
            "2026-01-01T00:00:00.500000Z",
            "2026-01-01T00:00:00.000000+09:00",
            "0000-01-01T00:00:00.000000Z",
            "0001-01-01T00:00:00.000001Z",
        ]
    ),
)
days = st.one_of(
    st.dates().map(dt.date.isoformat),
    st.sampled_from(["2026-02-30", "20260101", "2026-W01-1", "0000-01-01", "2026-1-01"]),
)
values = st.one_of(
    st.builds(lambda content: {"S": content}, st.one_of(texts, instants, days)),
    st.builds(lambda content: {"S": content}, st.sampled_from(["red", "grün", "a", 'b"', "blue"])),
    st.builds(lambda content: {"N": content}, numbers),
    st.builds(lambda content: {"BOOL": content}, st.booleans()),
    st.builds(
        lambda content: {"SS": content}, st.lists(texts, unique=True, min_size=1, max_size=4)
    ),
    st.just({"NULL": True}),
    st.just({"L": [{"S": "x"}]}),
)
BY_KIND: dict[str, Any] = {
    "str": st.builds(lambda content: {"S": content}, texts),
    "int": st.builds(lambda content: {"N": str(content)}, st.integers(-20, 20)),
    "bool": st.builds(lambda content: {"BOOL": content}, st.booleans()),
    "decimal": st.builds(lambda content: {"N": content}, numbers),
    "date": st.builds(lambda content: {"S": content}, days),
    "datetime": st.builds(lambda content: {"S": content}, instants),
    "set": st.builds(
        lambda content: {"SS": content}, st.lists(texts, unique=True, min_size=1, max_size=4)
    ),
}
scales = st.dictionaries(
    st.sampled_from(["price", "weight", "size", "text", "weight/0"]), st.integers(1, 9), max_size=2
)


USUAL: dict[str, Any] = {
    "PK": {"S": "p"},
    "SK": {"S": "-"},
    "id": {"S": "e"},
    "text": {"S": "t"},
    "day": {"S": "2026-01-01"},
    "at": {"S": "2026-01-01T00:00:00.000000Z"},
    "station": {"S": "s"},
    "secret": {"N": "1"},
    "created_at": {"S": "2026-01-01T00:00:00.000001Z"},
    "version": {"N": "1"},
}
ABSENT: Any = None
inherited = {"created_at": instants, "versioned_at": instants, "version": BY_KIND["int"]}


def draw_value(draw: Any, name: str) -> Any:
    """An attribute value: mostly of the field's kind, now and then anything or nothing."""
    if name == SCALES:
        paths: dict[str, set[str]] = {}
        for path, places in draw(scales).items():
            paths.setdefault(str(places), set()).add(path)
        return attributes.to_value(paths)
    if name in inherited:
        return draw(st.one_of(values, BY_KIND["datetime"], BY_KIND["int"], st.just(ABSENT)))
    spec = Every.fields_[name]
    usual = BY_KIND[spec.kind]
    if spec.literals:
        usual = st.sampled_from([*spec.literals, "x"]).map(lambda literal: {"S": literal})
    return draw(st.one_of(usual, usual, usual, values, st.just({"NULL": True}), st.just(ABSENT)))


@st.composite
def images(draw: Any) -> tuple[type[Entity], dict[str, Any]]:
    """An item of which some attributes are others than usual."""
    image = dict(USUAL)
    names = st.sampled_from([*Every.fields_, *inherited, SCALES, "price", "weight"])
    for name in draw(st.lists(names, max_size=4, unique=True)):
        value = draw_value(draw, name)
        image.pop(name, None)
        if value is not ABSENT:
            image[name] = value
    return draw(st.sampled_from([Every, Every, Every, Station, Plainest])), image


def attempt(render: Callable[[], str]) -> str:
    """What a function gives, or the kind of its error."""
    try:
        return render()
    except ERRORS as error:
        return f"raises {type(error).__name__}"


@given(images())
@example((Every, USUAL))
@settings(max_examples=400)
def test_an_image_is_written_as_its_object_is(drawn: tuple[type[Entity], dict[str, Any]]) -> None:
    entity, image = drawn
    defined = attempt(lambda: models.render_item(to_item(entity, image, Ledger())))
    if "uid" in {spec.role for name, spec in entity.fields_.items() if name not in image}:
        return  # the object gets an id that is made by chance
    assert attempt(lambda: item_json.render_image(entity, image, Ledger())) == defined


@given(images())
@settings(max_examples=200)
def test_an_object_is_written_as_its_model_writes_it(
    drawn: tuple[type[Entity], dict[str, Any]],
) -> None:
    entity, image = drawn
    try:
        item = to_item(entity, image, Ledger())
    except ERRORS:
        return
    defined = attempt(lambda: models.render_item(item))
    assert attempt(lambda: item_json.render_item(item)) == defined


anything = st.one_of(
    st.none(),
    texts,
    st.integers(),
    st.booleans(),
    st.decimals(allow_nan=False),
    st.dates(),
    st.datetimes(timezones=st.sampled_from([dt.UTC, dt.timezone(dt.timedelta(hours=9))])),
    st.frozensets(texts, max_size=3),
)


@given(st.dictionaries(st.sampled_from(list(Every.fields_)), anything, max_size=2))
@settings(max_examples=200)
def test_a_value_of_another_type_is_left_to_the_model(changed: dict[str, Any]) -> None:
    item = restore_item(Every, {"id": "e", "day": NOON.date(), "at": NOON}, NOON, 3, NOON)
    vars(item).update(changed)
    defined = attempt(lambda: models.render_item(item))
    assert attempt(lambda: item_json.render_item(item)) == defined


def test_plain_items_are_written_without_their_models(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"text": "t", "day": NOON.date(), "at": NOON, "station": "s", "secret": 1}
    item = restore_item(
        Every, {**given, "stations": {"b", "a"}, "price": Decimal("7.1")}, NOON, 1, NOON
    )
    image = attributes.to_image({name: vars(item)[name] for name in Every.fields_})
    image |= attributes.to_image({"created_at": NOON, "version": 1, "versioned_at": NOON})
    defined = models.render_item(to_item(Every, image, Ledger()))
    monkeypatch.setattr(models, "render_item", None)
    assert item_json.render_image(Every, image, Ledger()) == defined
    assert '"stations":["a","b"]' in item_json.render_item(item)


def test_an_entity_with_a_field_of_another_type_has_no_writer() -> None:
    assert item_json.make_item_json(Bag) is None
