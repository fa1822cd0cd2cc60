"""Which routes declarations become, and which they cannot become."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from daicho import (
    Aggregate,
    Book,
    Count,
    Domain,
    Entity,
    Key,
    Listing,
    Page,
    Search,
    field,
    ref,
    uid,
)
from daicho.declare.registry import Daicho
from daicho.errors import DeclarationError
from daicho.web.http.operation import Operation
from daicho.web.routes.builder import build_operations
from tests.support.sample_domain import TOYS, Contact, Order, routes, serve


def test_nothing_else_is_there() -> None:
    assert len(routes(*TOYS)) == 23


def test_literals_come_before_variables() -> None:
    paths = [each.path for each in build_operations(Daicho(*TOYS))]
    assert paths.index("/contacts/count") < paths.index("/contacts/{id}")


class Mixed(Entity):
    id: str = uid()
    name: str = field()
    number: int = field()

    key = Key(id)
    numbered = Listing(number)


def test_two_queries_must_be_told_apart() -> None:
    class Twice(Entity):
        id: str = uid()
        name: str = field()

        key = Key(id)
        one = Listing(name)
        two = Listing(name, order=name)

    domain = Domain("twice", Twice)
    domain.resource("/twice/{id}", Twice, "GET")
    with pytest.raises(DeclarationError, match=r"nothing tells Twice\.two from Twice\.one"):
        routes(domain)
    domain.mount("/named/{name}", Twice.two)
    assert {"GET /twice", "GET /named/{name}"} <= set(routes(domain))


def test_one_name_means_one_thing() -> None:
    domain = Domain("mixed", Mixed)
    domain.resource("/mixed/{id}", Mixed, "GET")

    @domain.route("GET", "/mixed?name=&number=")
    def both(book: Book, name: str, number: str) -> Page[Mixed]:
        raise NotImplementedError

    with pytest.raises(
        DeclarationError, match=r"'number' has one type in .* in .*; mount one elsewhere"
    ):
        routes(domain)


def test_a_search_below_a_variable_needs_a_place() -> None:
    class Deep(Entity):
        of: str = ref(Contact)
        id: str = uid()
        text: str = field()

        key = Key(of, id)
        search = Search(text)
        count = Aggregate(Count())

    domain = Domain("deep", Deep)
    domain.resource("/contacts/{of}/deep/{id}", Deep, "GET")
    with pytest.raises(DeclarationError, match=r"Deep\.search spans more than"):
        routes(domain)
    domain.mount("/deep", Deep.search)
    domain.mount("/deep/count", Deep.count)
    assert routes(domain)["GET /deep"] == ["?text="]


def test_variables_of_one_path_are_called_alike() -> None:
    domain = Domain("orders", Order)

    @domain.route("GET", "/orders/{number}/lines")
    def lines(book: Book, number: str) -> str:
        return number

    @domain.route("PUT", "/orders/{id}/lines")
    def put_lines(book: Book, id: str) -> str:
        return f"put {id}"

    found: list[Operation] = build_operations(Daicho(domain))
    assert len({each.path for each in found if each.path.endswith("lines")}) == 1
    client = serve(domain)
    assert client.good("GET", "/orders/7/lines") == "7"
    assert client.good("PUT", "/orders/7/lines") == "put 7"


def declare_people(search: Callable[[str, str], Search], *listed: str) -> Domain:
    """People with a search over their names, and listings by ``name`` and ``town``."""

    class Person(Entity):
        id: str = uid()
        name: str = field()
        nick: str = field(default="")
        town: str = field(default="")

        key = Key(id)
        found = search(name, nick)
        if "name" in listed:
            named = Listing(name)
        if "town" in listed:
            of_town = Listing(town)
        if "nick" in listed:
            nicked = Search(nick, param="nickname")

    domain = Domain("people", Person)
    domain.resource("/people/{id}", Person, "GET")
    return domain


def test_two_searches_of_one_path_have_two_parameters() -> None:
    domain = declare_people(Search, "nick")
    assert routes(domain)["GET /people"] == ["?q=", "?nickname="]
    domain = declare_people(lambda name, nick: Search(name, param="nickname"), "nick")
    with pytest.raises(DeclarationError, match=r"or name the parameter of the search: Search\("):
        routes(domain)


def test_a_search_finds_what_a_listing_by_one_of_its_fields_finds() -> None:
    domain = declare_people(lambda name, nick: Search(name, nick, param="name"), "name")
    assert routes(domain)["GET /people"] == ["?name="]
    domain = declare_people(Search, "name")
    assert routes(domain)["GET /people"] == ["?q=", "?name="]


def test_a_search_takes_no_parameter_of_a_listing_by_another_field() -> None:
    domain = declare_people(lambda name, nick: Search(name, nick, param="town"), "town")
    with pytest.raises(DeclarationError, match=r"nothing tells Person\.of_town from Person\.found"):
        routes(domain)
