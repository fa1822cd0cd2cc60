"""Example items as the library stores them."""

from __future__ import annotations

import datetime as dt

import pytest

from daicho.plan import EntityPlan, Generation, KeyPlan
from daicho_cli.cost.examples import (
    ID,
    ExampleError,
    build_image,
    build_stored_item,
    build_version_item,
    split_sections,
)
from tests.unit.daicho_cli.cost.plans import generation


def test_fields_of_the_key_that_are_not_given_get_typical_values() -> None:
    key = KeyPlan(("poll",), ("at", "day", "yes", "number"), shards="shards", salt="salt")
    kinds = {"at": "datetime", "day": "date", "yes": "bool", "number": "int", "shards": "int"}
    ballot = Generation(1, EntityPlan("Ballot", {"poll": "str", **kinds}, key))
    image = build_image(ballot, {})
    assert image["poll"] == {"S": ID}
    assert image["PK"]["S"].startswith(f"tenant-one#Ballot#{ID}#")
    assert image["SK"]["S"].startswith("2026-11-21T01:05:40.123456Z#2026-11-21#false#0")
    assert build_image(ballot, {"poll": "p"})["PK"]["S"].startswith("tenant-one#Ballot#p#")


def test_values_are_read_by_the_kinds_of_the_plan() -> None:
    plan = EntityPlan(
        "Sale",
        {"price": "decimal", "at": "datetime", "tags": "set", "id": "str"},
        KeyPlan(("id",), ()),
    )
    values = {"price": "1.20", "at": "2026-11-02T06:30:00+09:00", "tags": ["b", "a"], "n": [1]}
    image = build_image(Generation(1, plan), values)
    assert image["price"] == {"N": "1.20"}
    assert image["at"] == {"S": "2026-11-01T21:30:00.000000Z"}
    assert image["tags"] == {"SS": ["a", "b"]}
    assert image["n"] == {"L": [{"N": "1"}]}
    empty = build_image(Generation(1, plan), {"tags": [], "note": None})
    assert not {"tags", "note"} & set(empty)


@pytest.mark.parametrize("price", ["dear", float("nan"), [1]])
def test_a_value_that_a_field_cannot_have_is_named(price: object) -> None:
    with pytest.raises(ExampleError, match=r"Song\.price cannot be"):
        build_image(generation(), {"price": price})


def test_a_key_that_is_too_long_is_refused() -> None:
    with pytest.raises(ExampleError, match="an example of Song cannot be stored"):
        build_image(generation(), {"id": "x" * 3_000})


def test_an_item_with_versions_is_stored_twice_or_pointed_at() -> None:
    copy, pointer = generation(versions="copy"), generation(versions="pointer")
    image = build_image(copy, {"title": "Aja", "at": dt.date(2026, 11, 1)})
    assert build_stored_item(generation().plan, image) is image
    assert "title" in build_stored_item(copy.plan, image)
    assert "title" not in build_stored_item(pointer.plan, image)
    assert "title" in build_version_item(pointer.plan, image)


def test_sections_are_no_part_of_the_image() -> None:
    document = generation("Document", split="sections")
    values = {"title": "x", "sections": {"a": {"text": "y"}, "b": 1}}
    image = build_image(document, values)
    assert "sections" not in image
    assert image["split"]["M"]["count"] == {"N": "2"}
    assert [section.name for section in split_sections(document.plan, values)] == ["a", "b"]
    assert split_sections(document.plan, {}) == []
