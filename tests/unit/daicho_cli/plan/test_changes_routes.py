"""The routes that query each declaration."""

from __future__ import annotations

from daicho import Aggregate, Count, Domain, Entity, Key, Search, field, uid
from daicho.declare.registry import Daicho
from daicho_cli.plan.changes import list_declaration_routes
from tests.support.sample_project import DAICHO


class Room(Entity):
    """Somewhere."""

    id: str = uid()
    name: str = field()

    key = Key(id)
    search = Search(name)
    total = Aggregate(Count())


def test_mounted_declarations_and_functions_have_their_routes() -> None:
    routes = list_declaration_routes(DAICHO)
    assert routes["Song.of_year"] == ("GET /songs?artist=&released=",)
    assert routes["Contact.in_category"] == ("GET /categories/{categories}/contacts",)
    # A function of the domain replaces the list of all contacts, and queries the search.
    assert routes["Contact.search"] == ("GET /contacts?q=", "GET /contacts")
    # A ranking and its members.
    assert routes["Download.chart"] == ("GET /charts/{month}", "GET /charts/{month}/{song}")
    assert routes["Order.open"] == ("GET /customers/{customer}/orders?open=true",)


def test_a_creation_that_is_refused_above_a_number_reads_the_count() -> None:
    domain = Domain("rooms", Room)
    domain.resource("/rooms/{id}", Room, "POST GET", max_items=9)
    routes = list_declaration_routes(Daicho(domain))
    assert routes["Room.total"] == ("POST /rooms", "GET /rooms/total")
    assert routes["Room.search"] == ("GET /rooms?name=",)
