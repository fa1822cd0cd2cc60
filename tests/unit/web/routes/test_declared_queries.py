"""Which declarations can be asked over HTTP."""

from __future__ import annotations

import pytest

from daicho import Aggregate, Count, Domain, Entity, Key, Listing, Search, field, refuse, uid
from daicho.errors import DeclarationError
from tests.support.sample_domain import FakeBook, Order, routes, serve


def test_only_declarations_are_answered() -> None:
    domain = Domain("orders", Order)
    domain.mount("/x", Order.of_customer("ann"))
    with pytest.raises(DeclarationError, match="is no declaration"):
        routes(domain)


def test_a_top_of_what_is_not_ranked() -> None:
    class Sale(Entity):
        id: str = uid()
        shop: str = field()

        key = Key(id)
        sold = Aggregate(Count(), shop)

    domain = Domain("sales", Sale)
    domain.resource("/sales/{id}", Sale, "POST")
    domain.mount("/top", Sale.sold.top)
    with pytest.raises(DeclarationError, match=r"Sale\.sold is not ranked: it has no top"):
        routes(domain)


class Person(Entity):
    id: str = uid()
    name: str = field()
    nick: str = field(default="")
    town: str = field(default="")

    key = Key(id)
    search = Search(name, nick, param="name")
    by_nick = Search(nick, param="Name")
    of_town = Listing(town)


people = Domain("people", Person)
people.resource("/people/{id}", Person, "GET")


def test_a_problem_of_a_keyword_names_the_parameter() -> None:
    book = FakeBook()
    client = serve(people, book=book)
    for name in ("name", "Name"):
        book.fails = refuse(422, "too many words", field="q")
        answer = client("GET", f"/people?{name}=x")
        assert (answer.status, answer.fields) == (422, {name})
    book.fails = refuse(422, "no such field", field="fields")
    assert client("GET", "/people?name=x").fields == {"fields"}
