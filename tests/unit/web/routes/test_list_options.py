"""``from``, ``to``, ``prefix`` and ``order``: which lists take them, and what they ask for."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from daicho import Domain, Edge, Entity, Key, Listing, Search, Versioned, field, one_of, ref, uid
from tests.support.sample_domain import FakeBook, serve
from tests.support.shelves_and_events import Event, Shelf


class Tune(Entity):
    id: str = uid()
    name: str = field()
    year: int = field()
    heard: dt.datetime = field()
    due: dt.date = field()
    loud: bool = field(default=False)

    key = Key(id, partition=0)
    search = Search(name)
    of_year = Listing(year)
    by_due = Listing(loud, order=due)
    late = Listing(order=(due, year), where=one_of(loud, True))
    heard_last = Listing(name, loud, order=heard)
    versions = Versioned("copy")


class Pair(Entity):
    one: str = ref(Tune)
    other: str = ref(Tune)

    key = Edge(one, other)


class Step(Entity):
    """Its fields have the names of the parameters."""

    order: str = field()
    prefix: str = field()
    to: int = field()

    key = Key(order, prefix)
    of_prefix = Listing(prefix, order=to)
    of_end = Listing(to, order=order)


class Spot(Entity):
    country: str = field()
    region: str = field()
    town: str = field()

    key = Key(country, region, town)


tunes = Domain("tunes", Tune, Pair)
tunes.resource("/tunes/{id}", Tune, "POST PUT GET PATCH DELETE LIST")
tunes.resource("/tunes/{one}/pairs/{other}", Pair, "PUT LIST")
tunes.mount("/pairs/{other}", Pair.key.inverse)
tunes.mount("/heard/{name}/{loud}", Tune.heard_last, window="hours")
steps = Domain("steps", Step)
steps.resource("/orders/{order}/steps/{prefix}", Step, "PUT LIST")
steps.mount("/steps?prefix=", Step.of_prefix)
steps.mount("/steps?to=", Step.of_end)
toys = Domain("toys", Shelf, Event, Spot)
toys.mount("/spots?under=", Spot.key.under)
toys.mount("/shelves?under=", Shelf.key.under)
toys.mount("/rows/{hall}", Shelf.key.under)
toys.mount("/halls/{hall}/{row}?under=", Shelf.key.under)

NOON = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)
DAY = dt.date(2026, 11, 21)


@pytest.mark.parametrize(
    ("url", "query"),
    [
        ("/tunes?order=asc", Tune.key.all()),
        ("/tunes?order=desc", Tune.key.all().reversed()),
        ("/tunes?from=a&to=", Tune.key.all().between("a", "")),
        ("/tunes?prefix=a%20b", Tune.key.all().starting_with("a b")),
        ("/tunes?year=1977&from=2026-11-21", Tune.of_year(1977).between(DAY, None)),
        ("/tunes?year=1977&order=asc", Tune.of_year(1977).ascending()),
        ("/tunes?loud=true&to=2026-11-21&order=desc", Tune.by_due(True).between(None, DAY)),
        ("/tunes?late=true&from=2026-11-21", Tune.late().between(DAY, None)),
        (
            "/heard/a/true?to=2026-11-21T21:00:00%2B09:00&hours=2",
            Tune.heard_last("a", True).last(dt.timedelta(hours=2)).between(None, NOON),
        ),
        ("/pairs/b?prefix=a", Pair.key.inverse("b").starting_with("a")),
        ("/tunes/a/pairs?from=a&order=desc", Pair.key.all("a").between("a", None).descending()),
        ("/tunes/a/versions?from=2&to=3", Tune.versions("a").between(2, 3)),
        ("/tunes/a/versions?order=asc", Tune.versions("a").ascending()),
        ("/shelves?under=h/3&order=desc", Shelf.key.under("h", "3").descending()),
        ("/rows/h?from=-3&to=12", Shelf.key.under("h").between(-3, 12)),
        ("/halls/h/3?under=p&order=desc", Shelf.key.under("h", 3, "p").descending()),
        ("/orders/o/steps?prefix=a&list_order=desc",
         Step.key.all("o").starting_with("a").descending()),
        ("/steps?prefix=p&from=1&list_to=2&order=asc",
         Step.of_prefix("p").between(1, 2).ascending()),
        ("/steps?to=3&list_to=a&list_prefix=b",
         Step.of_end(3).between(None, "a").starting_with("b")),
        ("/spots?under=jp/kanto&from=a", Spot.key.under("jp", "kanto").between("a", None)),
    ],
)  # fmt: skip
def test_a_part_of_a_list_is_asked_for(url: str, query: Any) -> None:
    book = FakeBook()
    serve(tunes, steps, toys, book=book).good("GET", url)
    assert book.asked == [query, 100, None]


@pytest.mark.parametrize(
    ("url", "status", "name"),
    [
        ("/tunes?order=up", 422, "order"),
        ("/tunes?order=", 422, "order"),
        ("/tunes?year=1977&from=yesterday", 422, "from"),
        ("/tunes?year=1977&from=2026-11-21T12:00:00", 422, "from"),
        ("/tunes?year=1977&to=2026-02-30", 422, "to"),
        ("/tunes?late=true&to=2026-11-21T12:00:00Z", 422, "to"),
        ("/tunes?late=true&prefix=2026", 400, "prefix"),
        ("/tunes?name=a&order=asc", 400, "order"),
        ("/tunes/a/versions?from=1.5", 422, "from"),
        ("/tunes/a/versions?prefix=1", 400, "prefix"),
        ("/shelves?under=h&from=1", 400, "from"),
        ("/halls/h/3?under=p&from=a", 400, "from"),
        ("/spots?under=jp/kanto/tokyo&prefix=a", 422, "prefix"),
        ("/rows/h?to=x", 422, "to"),
        ("/steps?prefix=p&list_to=x", 422, "list_to"),
    ],
)
def test_a_wrong_parameter_is_named(url: str, status: int, name: str) -> None:
    answer = serve(tunes, steps, toys)("GET", url)
    assert (answer.status, answer.fields) == (status, {name}), answer.text
