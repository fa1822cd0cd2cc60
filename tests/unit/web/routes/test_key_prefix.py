"""``under=`` and ``minutes=``: what they are mounted on, and what they say."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from daicho import Domain, Entity, Key, Listing, created_at, field, uid
from daicho.declare.registry import Daicho
from daicho.errors import DeclarationError, Refusal
from daicho.query.collection_reader import Source
from daicho.web.routes import key_prefix
from daicho.web.routes.builder import operations


class Shelf(Entity):
    hall: str = field()
    row: int = field()
    place: str = field()
    note: str = ""

    key = Key(hall, row, place)


class Event(Entity):
    source: str = field()
    at: dt.datetime = field()
    day: dt.date = field()
    id: str = uid()

    key = Key(source, at, id)
    latest = Listing(source)
    made = Listing(source, day, order=(created_at, at))
    by_day = Listing(source, order=day)


def served(path: str, declaration: Any, **options: Any) -> list[str]:
    domain = Domain("toys", Shelf, Event)
    domain.answer(path, declaration, **options)
    (operation,) = operations(Daicho(domain))
    return [f"{operation.path}{choice}" for choice in operation.choices]


@pytest.mark.parametrize(
    "path",
    [
        "/shelves?under=",
        "/halls/{hall}?under=",
        "/halls/{hall}/rows/{row}?",
        "/halls/{hall}?row=",
        "/halls/{hall}?row=&under=",
        "/halls/{hall}?",
        "/halls?hall=",
    ],
)
def test_a_key_is_asked_by_its_first_fields(path: str) -> None:
    (choice,) = served(path, Shelf.key.under)
    assert choice == path


@pytest.mark.parametrize("path", ["/shelves", "/rows/{row}?under=", "/halls/{hall}?place="])
def test_not_by_others(path: str) -> None:
    with pytest.raises(DeclarationError, match=r"Shelf\.key"):
        served(path, Shelf.key.under)


@pytest.mark.parametrize(
    ("declaration", "query"),
    [(Event.latest, ""), (Event.made, "?day="), (Event.key.all, "")],
)
def test_a_window_is_over_what_is_ordered_by_an_instant(declaration: Any, query: str) -> None:
    domain = Domain("toys", Event)
    domain.answer(f"/events/{{source}}{query}", declaration, window="hours")
    (operation,) = operations(Daicho(domain))
    assert "hours" in operation.parameters


@pytest.mark.parametrize(
    ("path", "declaration", "window"),
    [
        ("/e/{source}", Event.by_day, "minutes"),
        ("/e/{source}/{at}/{id}", Event.key, "minutes"),
        ("/e/{hall}", Shelf.key.all, "minutes"),
        ("/e/{source}", Event.latest, "weeks"),
    ],
)
def test_and_nothing_else(path: str, declaration: Any, window: Any) -> None:
    with pytest.raises(DeclarationError):
        served(path, declaration, window=window)


def test_components_are_encoded_inside() -> None:
    assert key_prefix.components("a") == ["a"]
    assert key_prefix.components("a/b%2Fc/%25") == ["a", "b/c", "%"]
    assert key_prefix.components("関東/a+b/#") == ["関東", "a+b", "#"]
    for wrong in ("", "a/", "/a", "a//b", "%", "%2", "a/%zz", "%ff"):
        with pytest.raises(Refusal) as refused:
            key_prefix.components(wrong)
        assert (refused.value.status, refused.value.field) == (422, "under")


def test_as_many_values_as_a_key_has() -> None:
    assert Shelf.key.under("a").parts == ("a",)
    assert Shelf.key.under("a", 1, "x").parts == ("a", 1, "x")
    for wrong in ((), ("a", 1, "x", "y")):
        with pytest.raises(TypeError, match="1 to 3"):
            Shelf.key.under(*wrong)


def test_a_prefix_is_a_range_that_nothing_else_is_in() -> None:
    low, high = Source("p", prefix="japan#kan#").bounds
    inside = ["japan#kan#", "japan#kan#!", "japan#kan#\U0010ffff", "japan#kan#$20"]
    outside = ["japan#kan", "japan#kan$20x#y", "japan#kanto#x", "japan#kam#x", "japan#"]
    assert all(low <= each < high for each in inside)
    assert not any(low <= each <= high for each in outside)
    assert Source("p", prefix="a#b", whole=True).bounds == ("a#b", "a#b")
    assert Source("p", prefix="a#", floor="a#2026").bounds == ("a#2026", "a$")
    assert Source("p").bounds == ("", "")
