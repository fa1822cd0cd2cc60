"""What is split and what has objects, declared wrongly: an error that says so, at import."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from pydantic import JsonValue, ValidationError

from daicho import (
    Aggregate,
    Count,
    Entity,
    Expires,
    Key,
    Listing,
    Search,
    Split,
    StoredObject,
    Versioned,
    field,
    stored_object,
    uid,
)
from daicho.declare.compiler import compile_entity
from daicho.declare.queries import OneSection
from daicho.errors import DeclarationError
from daicho.layout.object_names import name_of
from daicho.plan import EntityPlan, Ledger, append, locked
from daicho.storage import keys
from daicho.storage.item_key import ItemKey
from domains.documents import Document
from domains.photos import Photo


def compiled(*wrong: str) -> EntityPlan:
    """The plan of an entity with sections, and what is ``wrong`` with it."""

    class Paper(Entity):
        id: str = uid()
        sections: dict[str, JsonValue] = field()
        kind: str = field(default="")

        key = Key(id)
        split = Split(sections)
        if "search" in wrong:
            search = Search(sections)  # type: ignore[arg-type]
        if "listing" in wrong:
            listing = Listing(kind, order=sections)
        if "aggregate" in wrong:
            aggregate = Aggregate(Count(), sections)
        if "twice" in wrong:
            twice = Split(sections)
        if "kind" in wrong:
            split = Split(kind)
        if "expires" in wrong:
            expires = Expires(dt.timedelta(days=1))
        if "versions" in wrong:
            versions = Versioned("copy")

    return compile_entity(Paper)


def test_the_plan_names_what_is_split_and_a_change_of_it_is_a_generation() -> None:
    plan = compiled()
    assert plan.split == "sections"
    assert EntityPlan.from_json(plan.to_json()) == plan
    assert "split" not in compile_entity(Photo).to_json()
    ledger = append([plan], Ledger())
    locked([plan], ledger)
    whole = EntityPlan(name="Paper", fields=plan.fields, key=plan.key)
    with pytest.raises(DeclarationError, match=r"Paper\.sections changed"):
        locked([whole], ledger)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("search", r"Paper\.search reads Paper\.sections, which is split into items of its own"),
        ("listing", r"Paper\.listing reads Paper\.sections, which is split"),
        ("aggregate", r"Paper\.aggregate reads Paper\.sections, which is split"),
        ("twice", "Paper is split already"),
        ("kind", r"splits Paper\.kind, which has no sections"),
        ("expires", "would leave the sections"),
        ("versions", "versions of Paper would hold no sections"),
    ],
)
def test_what_cannot_be_split_is_refused(wrong: str, message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        compiled(wrong)


def test_a_section_is_asked_for_by_key_and_name() -> None:
    assert Document.split("d", section="s") == OneSection(Document, ("d",), "s")
    assert Document.split("d", section="s").one == Document.key("d")


def test_an_object_is_what_its_declaration_admits() -> None:
    photo = Photo(image={"type": "image/png", "bytes": 1})  # type: ignore[arg-type]
    assert (photo.image.type, photo.image.bytes) == ("image/png", 1)
    for wrong in ({"type": "text/html", "bytes": 1}, {"type": "image/png", "bytes": 10**9}):
        with pytest.raises(ValidationError):
            Photo(image=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given",
    [
        {"max_bytes": 0, "types": ("image/png",)},
        {"max_bytes": 6 * 1024**3, "types": ("image/png",)},
        {"max_bytes": 1, "types": ()},
        {"max_bytes": 1, "types": ("png",)},
    ],
)
def test_an_object_without_sense_is_refused(given: Any) -> None:
    with pytest.raises(DeclarationError, match="an object"):
        stored_object(**given)


def test_an_object_has_a_type_of_its_own_and_does_not_expire() -> None:
    with pytest.raises(DeclarationError, match="image: StoredObject"):

        class Wrong(Entity):
            id: str = uid()
            image: str = stored_object(max_bytes=1, types=("image/png",))

            key = Key(id)

    class Passing(Entity):
        id: str = uid()
        image: StoredObject = stored_object(max_bytes=1, types=("image/png",))

        key = Key(id)
        expires = Expires(dt.timedelta(days=1))

    with pytest.raises(DeclarationError, match=r"would leave Passing\.image behind in S3"):
        compile_entity(Passing)


def test_the_names_of_objects_begin_with_the_tenant_and_never_meet() -> None:
    parts = [("a/b",), ("a", "b"), ("a%2Fb",), ("a b",)]
    names = {
        name_of(ItemKey(keys.render("acme", "Photo"), keys.render(*each)), "Photo", "image")
        for each in parts
    }
    assert all(name.startswith("acme/Photo.image/") for name in names)
    assert len(names) == len(parts)
