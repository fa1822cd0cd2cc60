"""Rules over the stored item and the new one: each rule on each way of writing an item."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from daicho.book.book import Book
from daicho.declare.rules.caller import Caller
from daicho.errors import ForbiddenChange, Refusal
from daicho.query.access import Access
from daicho.storage.attributes import ItemKey
from daicho.web.schema.models import build_change_model
from tests.support.api_client import Client
from tests.support.deployment import Served
from tests.support.ruled_domains.bills import Bill, Statement
from tests.support.ruled_project import DAICHO

NUMBERS = itertools.count()
PATHS = {Bill: "/bills", Statement: "/statements"}
WAYS = ("PATCH", "PUT", "If-Match", "Idempotency-Key", "transaction")
CLERK, ANN = ("clerk", "clerks"), ("ann", "accountant")
OPEN, PAID, DISCOUNT = {"state": "open"}, {"state": "paid"}, {"discount": 5}
CASES: list[tuple[Any, dict[str, Any], dict[str, Any], int, str]] = [
    # who, what is stored, what changes, status, field
    (ANN, OPEN, PAID, 200, ""),
    (CLERK, OPEN, PAID, 403, "state"),
    (CLERK, OPEN, {"state": "void"}, 200, ""),  # its owner may
    (ANN, OPEN, {"state": "void"}, 403, "state"),
    (ANN, PAID, PAID, 409, "state"),  # it is so already
    (CLERK, {}, {"state": "paid"}, 409, "state"),  # no such transition
    (CLERK, {}, {"rate": 3}, 403, "rate"),
    (ANN, {}, {"rate": 3}, 200, ""),
    (CLERK, {"rate": 3}, {"rate": None}, 403, "rate"),
    (CLERK, {"rate": 3, "amount": "1.00"}, {"note": "x"}, 200, ""),
    (CLERK, {"amount": "1.00"}, {"amount": "2.00"}, 200, ""),
    (CLERK, {"state": "void", "amount": "1.00"}, {"amount": "2.00"}, 409, "amount"),
    (CLERK, {"state": "void", "amount": "1.00"}, {"amount": "1.0", "note": "x"}, 200, ""),
    (CLERK, DISCOUNT, {"discount": 4}, 409, "discount"),
    (CLERK, DISCOUNT, {"discount": 6}, 200, ""),
]


def open_client(served: Served, who: tuple[str, str]) -> Client:
    return Client(served.handler, "acme", {"sub": who[0], "cognito:groups": [who[1]]})


def open_book(served: Served, who: tuple[str, str] | None = None) -> Book:
    access = Access()
    if who is not None:
        access = Access(Caller(who[0], frozenset({who[1]}), "acme"), DAICHO.access_rules)
    return Book(served.table, served.ledger, "acme", access=access)


def store(served: Served, entity: Any, values: dict[str, Any]) -> str:
    """An item of the clerk, from the state ``open`` on by a transition."""
    book, id = open_book(served), f"b{next(NUMBERS)}"
    state = values.get("state", "draft")
    first = "open" if state in ("paid", "void") else state
    book.create(entity(**{**values, "id": id, "owner": "clerk", "state": first}))
    if first != state:
        book.change(entity.key(id), {"state": state})
    return id


def write(
    served: Served, entity: Any, id: str, way: str, who: Any, change: Any
) -> tuple[int, set[str]]:
    """Change an item on one of the ways: the status, and the fields that the problem names."""
    path, client = f"{PATHS[entity]}/{id}", open_client(served, who)
    stored = client.good("GET", path)
    if way == "transaction":
        book = open_book(served, who)
        try:
            with book.transaction():
                book.change(entity.key(id), change)
        except Refusal as error:
            return error.status, {error.field or ""}
        return 200, set()
    headers = {"If-Match": f'"{stored["version"]}"', "Idempotency-Key": f"key-{id}"}
    sent = {way: headers[way]} if way in headers else {}
    body = change
    if way == "PUT":
        kept = {name: stored[name] for name in ("state", "amount", "note", "discount", "rate")}
        body = {**kept, **change}
    answer = client("PUT" if way == "PUT" else "PATCH", path, body, **sent)
    return answer.status, answer.fields if answer.status >= 400 else set()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("entity", [Bill, Statement])
def test_each_rule_on_each_way(served: Served, entity: Any, way: str) -> None:
    for who, values, change, status, name in CASES:
        id = store(served, entity, values)
        before = open_book(served).get(entity.key(id))
        found = write(served, entity, id, way, who, change)
        assert found == (status, {name} if name else set()), (who, values, change)
        after = open_book(served).get(entity.key(id))
        assert (after == before) == (status != 200), (who, values, change)


@pytest.mark.parametrize("entity", [Bill, Statement])
def test_deletions(served: Served, entity: Any) -> None:
    client = open_client(served, CLERK)
    for values, status in (({}, 204), (DISCOUNT, 409), ({"state": "void"}, 409)):
        id = store(served, entity, values)
        path = f"{PATHS[entity]}/{id}"
        assert client("DELETE", path).status == status
        assert client("GET", path).status == (404 if status == 204 else 200)
        book = open_book(served)
        if status == 409:
            with pytest.raises(ForbiddenChange), book.transaction():
                book.delete(entity.key(id))


def test_new_items(served: Served) -> None:
    clerk, accountant = open_client(served, CLERK), open_client(served, ANN)
    assert clerk("POST", "/bills", {"rate": 3}).fields == {"rate"}
    assert clerk("PUT", "/bills/new", {"rate": 3}).status == 403
    assert accountant("PUT", "/bills/new", {"rate": 3, "owner": "ann"}).status == 201
    assert clerk("POST", "/bills", {"rate": None}).status == 201


@pytest.mark.parametrize("entity", [Bill, Statement])
def test_of_equal_requests_one_is_answered_with_success(served: Served, entity: Any) -> None:
    id = store(served, entity, OPEN)
    clients = [open_client(served, ANN) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda each: each("PATCH", f"{PATHS[entity]}/{id}", PAID), clients))
    assert sorted(answer.status for answer in answers) == [200, *[409] * 7]
    assert open_book(served).get(entity.key(id)).version == 2


def test_a_restored_version(served: Served) -> None:
    book, id = open_book(served), store(served, Statement, DISCOUNT)
    book.change(Statement.key(id), {"discount": 6})
    with pytest.raises(ForbiddenChange, match="not lowered"):
        book.restore(Statement.versions.at(id, version=1))


def test_what_cannot_be_read_has_a_way_out(served: Served) -> None:
    client, id = open_client(served, CLERK), store(served, Bill, DISCOUNT)
    served.table.update(
        ItemKey(f"acme#Bill#{id}", "-"), "SET discount = :x", values={":x": {"S": "five"}}
    )
    assert client("GET", f"/bills/{id}").status == 409
    assert client("PUT", f"/bills/{id}", {}).status == 200


def test_the_description_of_fields_that_not_everybody_may_write() -> None:
    fields = build_change_model(Bill).model_json_schema()["properties"]
    assert fields["rate"]["x-daicho-writers"] == ["accountant"]
    assert fields["amount"]["x-daicho-frozen"] == {"state": ["paid", "void"]}
    assert fields["amount"]["description"] == "Does not change while state is paid or void."
