"""Items that something else wrote in another form: each harms itself alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from daicho import Aggregate, Count, Domain, Entity, Key, Listing, Search, Sum, Unique, Versioned
from daicho import field as declared
from daicho.book.book import Book
from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho.query.access import Access
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey
from daicho.testing import MemoryDeployment
from daicho.web.api import Api
from tests.support.api_client import Client


class Bill(Entity):
    """A bill, which its day lists, its state lists, and its customer finds."""

    number: int = declared(ge=1)
    day: str = declared()
    customer: str = declared()
    state: Literal["open", "paid"] = declared(default="open")
    amount: int = declared(ge=0)
    code: str = declared(default="", frozen=True)

    key = Key(number, partition=0)
    by_state = Listing(state)
    search = Search(customer)
    revenue = Aggregate(Sum(amount), day)
    count = Aggregate(Count())


class Device(Entity):
    """A device with a serial number that no other device has."""

    id: str = declared()
    serial: str = declared()

    key = Key(id, partition=0)
    by_serial = Unique(serial)


class Note(Entity):
    """A note whose versions are kept."""

    id: str = declared()
    text: str = declared()

    key = Key(id, partition=0)
    versions = Versioned("copy")


domain = Domain("bills", Bill, Device, Note)
domain.resource("/notes/{id}", Note, "PUT GET PATCH DELETE")
domain.resource("/bills/{number}", Bill, "POST PUT GET PATCH DELETE LIST")
domain.resource("/devices/{id}", Device, "POST PUT GET PATCH DELETE")
DAICHO = Daicho(domain)
DAMAGE: Mapping[str, Mapping[str, Any]] = {
    "a word for a number": {"amount": {"S": "many"}},
    "a number for a text": {"customer": {"N": "5"}},
    "no value of its Literal": {"state": {"S": "lost"}},
    "a list for a text": {"customer": {"L": [{"S": "ann"}]}},
    "version is a text": {"version": {"S": "3"}},
    "version is a fraction": {"version": {"N": "1.5"}},
    "created at a number": {"created_at": {"N": "5"}},
    "created at no time": {"created_at": {"S": "yesterday"}},
    "not created": {"created_at": None},
    "a fraction": {"amount": {"N": "1.5"}},
    "frozen is a map": {"code": {"M": {}}},
}


@dataclass
class Stack:
    """A deployment and its API."""

    deployment: MemoryDeployment

    def __post_init__(self) -> None:
        self.client = Client(Api(DAICHO, self.open_book), "acme")

    def open_book(self, access: Access) -> Book:
        return self.deployment.open_book(access.tenant, access)

    def damage(self, key: ItemKey, changes: Mapping[str, Any]) -> None:
        """Change attributes of an item as another program would; None removes one."""
        image = {**(self.deployment.table.get(key, consistent=True) or {}), **changes}
        self.deployment.table.put({n: value for n, value in image.items() if value is not None})

    def list_numbers(self, query: str = "") -> tuple[list[int], list[dict[str, Any]]]:
        """The numbers of the bills of a list, and what it leaves out."""
        answer = self.client("GET", f"/bills{query}")
        assert answer.status == 200, answer.text
        page = answer.json
        return sorted(bill["number"] for bill in page["items"]), page.get("unreadable", [])


SECOND = ItemKey("acme#Bill", "0000000000000000002")
BILL = {"customer": "anna", "amount": 4, "code": "c", "day": "2026-11-29"}


@pytest.fixture
def stack() -> Stack:
    stack = Stack(MemoryDeployment(DAICHO.append_generations(Ledger())))
    for number, customer in ((1, "ann"), (2, "anna"), (3, "andy")):
        body = {**BILL, "customer": customer, "number": number}
        assert stack.client("POST", "/bills", body).status == 201
    stack.deployment.catch_up()
    return stack


@pytest.mark.parametrize("name", DAMAGE)
def test_lists_leave_it_out_and_name_it(
    stack: Stack, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    stack.damage(SECOND, DAMAGE[name])
    (at_fault,) = DAMAGE[name]
    numbers, unreadable = stack.list_numbers()
    assert numbers == [1, 3]
    assert [(each["key"], each["field"]) for each in unreadable] == [({"number": "2"}, at_fault)]
    for query in ("?state=open", "?customer=an"):
        assert stack.list_numbers(query)[0] == [1, 3]
    book = stack.deployment.open_book("acme")
    page = book.page(Bill.key.all())
    assert [bill.number for bill in page.items] == [1, 3]
    assert [each.field for each in page.unreadable] == [at_fault]
    assert [each and each.number for each in book.find_all([Bill.key(1), Bill.key(2)])] == [1, None]
    assert capsys.readouterr().out.count('"StoredDataDamaged": 1}') >= 1


@pytest.mark.parametrize("name", DAMAGE)
def test_it_is_refused_replaced_and_removed(stack: Stack, name: str) -> None:
    stack.damage(SECOND, DAMAGE[name])
    (at_fault,) = DAMAGE[name]
    for method, body in (("GET", None), ("PATCH", {"day": "2026-11-30"})):
        answer = stack.client(method, "/bills/2", body)
        assert (answer.status, answer.json["type"]) == (409, "/problems/unreadable"), answer.text
        assert answer.fields == {at_fault}
    assert stack.client("PUT", "/bills/2", BILL).status in (200, 201)
    answer = stack.client("GET", "/bills/2")
    assert (answer.status, answer.json["amount"], answer.json["code"]) == (200, 4, "c")
    assert stack.list_numbers() == ([1, 2, 3], [])
    stack.damage(SECOND, DAMAGE[name])
    assert stack.client("DELETE", "/bills/2").status == 204
    assert stack.list_numbers() == ([1, 3], [])


def test_a_generation_that_is_no_number_is_shown_and_replaced(stack: Stack) -> None:
    stack.damage(SECOND, {"gen": {"S": "1"}})
    assert stack.list_numbers()[0] == stack.list_numbers("?state=open")[0] == [1, 2, 3]
    assert stack.client("PATCH", "/bills/2", {"amount": 5}).fields == {"gen"}
    assert stack.client("PUT", "/bills/2", BILL).status == 200
    assert stack.client("PATCH", "/bills/2", {"amount": 5}).status == 200


def test_a_version_that_is_null_is_shown_and_replaced(stack: Stack) -> None:
    stack.damage(SECOND, {"version": {"NULL": True}})
    assert stack.list_numbers() == ([1, 2, 3], [])
    assert stack.client("PATCH", "/bills/2", {"amount": 5}).fields == {"version"}
    assert stack.client("PUT", "/bills/2", BILL).json["version"] == 1


def test_a_key_of_another_form_is_named_as_it_is_stored(stack: Stack) -> None:
    image = stack.deployment.table.get(SECOND, consistent=True) or {}
    for text, number in (("-9999999999999999994", "-5"), ("two", "2")):
        other: Image = {"SK": {"S": text}, "number": {"N": number}, "amount": {"L": []}}
        stack.deployment.table.put({**image, **other})
    numbers, unreadable = stack.list_numbers()
    assert numbers == [1, 2, 3]
    assert [each["key"]["number"] for each in unreadable] == ["-5", "two"]


def test_an_expiry_that_is_no_number_never_comes(stack: Stack) -> None:
    stack.damage(SECOND, {"ttl": {"S": "1"}})
    assert stack.list_numbers() == ([1, 2, 3], [])
    assert stack.client("GET", "/bills/2").status == 200


@pytest.mark.parametrize("serial", [{"N": "5"}, {"L": []}, None])
def test_a_unique_value_of_another_type(stack: Stack, serial: Any) -> None:
    for id in ("a", "b"):
        assert stack.client("PUT", f"/devices/{id}", {"serial": f"s-{id}"}).status == 201
    stack.damage(ItemKey("acme#Device", "a"), {"serial": serial})
    assert stack.client("PUT", "/devices/b", {"serial": "s-a"}).status == 200
    assert stack.client("PUT", "/devices/a", {"serial": "s-b"}).status == 200
    stack.damage(ItemKey("acme#Device", "a"), {"serial": serial})
    assert stack.client("DELETE", "/devices/a").status == 204
    assert stack.client("PUT", "/devices/c", {"serial": "s-b"}).status == 201


def test_an_item_with_versions_whose_number_is_none_is_refused(stack: Stack) -> None:
    assert stack.client("PUT", "/notes/n", {"text": "a"}).status == 201
    stack.damage(ItemKey("acme#Note", "n"), {"version": {"S": "1"}})
    for method, body in (("GET", None), ("PUT", {"text": "b"}), ("DELETE", None)):
        answer = stack.client(method, "/notes/n", body)
        assert (answer.status, answer.fields) == (409, {"version"}), (method, answer.text)
