"""Example items as the library stores them."""

from __future__ import annotations

import datetime as dt
from collections import Counter

import pytest

from daicho.plan import EntityPlan, Generation, KeyPlan
from daicho_cli.cost.examples import (
    ID,
    ExampleError,
    build_image,
    build_stored_item,
    build_version_item,
    list_events,
    split_sections,
)
from daicho_cli.cost.traffic import (
    ChangeTraffic,
    EntityTraffic,
    Traffic,
    TransactionTraffic,
)
from tests.unit.daicho_cli.cost.plans import VALUES, generation


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


def test_each_example_has_its_share_and_keyed_requests_are_apart() -> None:
    song = EntityTraffic(
        creates=100,
        deletes=10,
        expiries=4,
        idempotent=0.2,
        examples=(VALUES, {**VALUES, "title": "Peg"}),
        changes=(ChangeTraffic(20, {"title": "x"}),),
    )
    events = list_events(generation(), Traffic(entities={"Song": song}))
    counts: Counter[tuple[str, bool]] = Counter()
    for event in events:
        counts[event.kind, event.keyed] += event.count  # type: ignore[assignment]
        assert event.keyed == event.transactional
    assert counts == {
        ("create", False): 80, ("create", True): 20, ("change", False): 16, ("change", True): 4,
        ("delete", False): 8, ("delete", True): 2, ("expire", False): 4,
    }  # fmt: skip
    assert len([event for event in events if event.kind == "create"]) == 4


def test_a_change_keeps_what_it_does_not_name() -> None:
    song = EntityTraffic(
        changes=(ChangeTraffic(1, {"title": "Peg"}), ChangeTraffic(1, {"artist": None})),
        examples=({**VALUES, "id": "x"},),
    )
    renamed, removed = list_events(generation(), Traffic(entities={"Song": song}))
    assert renamed.before is not None
    assert renamed.after is not None
    assert removed.after is not None
    assert (renamed.before["title"], renamed.after["title"]) == ({"S": "Aja"}, {"S": "Peg"})
    assert renamed.after["id"] == {"S": "x"}
    assert renamed.after["version"] == {"N": "2"}
    assert not renamed.is_moved
    assert "artist" not in removed.after


def test_a_change_of_the_key_moves_the_item() -> None:
    cart = generation("Cart", key=KeyPlan(("id",), ("artist",), moves="artist"))
    described = EntityTraffic(changes=(ChangeTraffic(1, {"artist": "saved"}),), examples=(VALUES,))
    (event,) = list_events(cart, Traffic(entities={"Cart": described}))
    assert event.is_moved


def test_transactions_add_their_items() -> None:
    checkout = TransactionTraffic("checkout", 5, creates={"Song": 1}, deletes={"Song": 3})
    close = TransactionTraffic("close", 2, changes={"Song": 1})
    song = EntityTraffic(changes=(ChangeTraffic(0, {"title": "x"}),))
    traffic = Traffic(entities={"Song": song}, transactions=(checkout, close))
    events = list_events(generation(), traffic)
    assert [(event.kind, event.count) for event in events] == [
        ("create", 5), ("delete", 15), ("change", 2),
    ]  # fmt: skip
    assert all(event.transactional and not event.keyed for event in events)
