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
from daicho.errors import Raced, UnreadableError
from daicho.layout.marks import compute_digest
from daicho.plan import Ledger
from daicho.query.access import Access
from daicho.storage.attributes import Image, ItemKey
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

    def read(self, key: ItemKey) -> Image:
        return self.deployment.table.get(key, consistent=True) or {}

    def list_versions(self) -> list[Note]:
        return list(self.deployment.open_book("acme").page(Note.versions("n")).items)

    def list_numbers(self, query: str = "") -> tuple[list[int], list[dict[str, Any]]]:
        """The numbers of the bills of a list, and what it leaves out."""
        answer = self.client("GET", f"/bills{query}")
        assert answer.status == 200, answer.text
        page = answer.json
        return sorted(bill["number"] for bill in page["items"]), page.get("unreadable", [])


SECOND = ItemKey("acme#Bill", "0000000000000000002")
NOTE = ItemKey("acme#Note", "n")
BILL: Mapping[str, Any] = {"customer": "anna", "amount": 4, "code": "c", "day": "2026-11-29"}


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
    answer = stack.client("GET", "/bills/2")
    assert (answer.status, answer.json["type"]) == (409, "/problems/unreadable"), answer.text
    assert answer.fields == {at_fault}
    assert stack.client("PUT", "/bills/2", BILL).status in (200, 201)
    answer = stack.client("GET", "/bills/2")
    assert (answer.status, answer.json["amount"], answer.json["code"]) == (200, 4, "c")
    assert stack.list_numbers() == ([1, 2, 3], [])
    stack.damage(SECOND, DAMAGE[name])
    assert stack.client("DELETE", "/bills/2").status == 204
    assert stack.list_numbers() == ([1, 3], [])


@pytest.mark.parametrize("name", DAMAGE)
def test_a_change_is_accepted_if_it_replaces_what_is_unreadable(stack: Stack, name: str) -> None:
    """The library itself replaces a version and a creation. A change has the precondition first."""
    stack.damage(SECOND, DAMAGE[name])
    (at_fault,) = DAMAGE[name]
    assert stack.client("PATCH", "/bills/2", {"day": "2026-11-30"}, if_match='"9"').status == 412
    changes: dict[str, Any] = {"day": "2026-11-30"}
    if at_fault not in ("version", "created_at"):
        answer = stack.client("PATCH", "/bills/2", changes)
        assert (answer.status, answer.fields) == (409, {at_fault}), answer.text
        if at_fault == "code":
            return  # it is set once, so no change has it
        changes[at_fault] = {"state": "paid", **BILL}[at_fault]
    answer = stack.client("PATCH", "/bills/2", changes)
    assert answer.status == 200, answer.text
    assert answer.json.items() >= changes.items()
    shown = stack.client("GET", "/bills/2")
    assert (shown.status, shown.json) == (200, answer.json)
    assert stack.list_numbers() == ([1, 2, 3], [])
    assert stack.client("PATCH", "/bills/2", changes, if_match=shown.headers["ETag"]).status == 200


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("version", [{"S": "3"}, {"N": "1.5"}, {"NULL": True}, None])
def test_without_a_version_the_etag_is_the_digest(stack: Stack, method: str, version: Any) -> None:
    body = {"PUT": BILL, "PATCH": {"amount": 5}, "DELETE": None}[method]
    stack.damage(SECOND, {"version": version})
    before = stack.client("GET", "/bills/2").headers["ETag"]
    assert before == f'"{compute_digest(stack.read(SECOND))}"'
    stack.damage(SECOND, {"day": {"S": "2026-12-01"}})
    tag = stack.client("GET", "/bills/2").headers["ETag"]
    for other in (before, '"0"', '"1"', '"3"', f'"1", {before}'):
        assert stack.client(method, "/bills/2", body, if_match=other).status == 412
    answer = stack.client(method, "/bills/2", body, if_match=f'{tag}, "9"')
    assert answer.status in (200, 201, 204), answer.text
    assert method == "DELETE" or answer.json["version"] == 1
    assert stack.client(method, "/bills/2", body, if_match=tag).status in (404, 412)


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_any_etag_fits_an_unreadable_item(stack: Stack, method: str) -> None:
    body = BILL if method == "PUT" else None
    stack.damage(SECOND, {"version": {"S": "3"}})
    assert stack.client(method, "/bills/2", body, if_match="*").status in (200, 201, 204)


def test_an_item_that_changes_after_its_digest_was_compared_is_not_replaced(stack: Stack) -> None:
    stack.damage(SECOND, {"version": None})
    book, bill = stack.deployment.open_book("acme"), Bill(**BILL, number=2)
    tag = compute_digest(stack.read(SECOND))
    with pytest.raises(Raced), book.transaction() as transaction:
        transaction.put(bill, if_match=tag)
        stack.damage(SECOND, {"amount": {"N": "77"}})
    assert stack.read(SECOND)["amount"] == {"N": "77"}


def test_a_generation_that_is_no_number_is_shown_and_replaced(stack: Stack) -> None:
    stack.damage(SECOND, {"gen": {"S": "1"}})
    assert stack.list_numbers()[0] == stack.list_numbers("?state=open")[0] == [1, 2, 3]
    assert stack.client("PATCH", "/bills/2", {"amount": 5}).fields == {"gen"}
    assert stack.client("PUT", "/bills/2", BILL).status == 200
    assert stack.client("PATCH", "/bills/2", {"amount": 5}).status == 200


def test_a_version_that_is_null_is_shown_and_replaced(stack: Stack) -> None:
    stack.damage(SECOND, {"version": {"NULL": True}})
    assert stack.list_numbers() == ([1, 2, 3], [])
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


def test_a_change_of_a_unique_value_that_was_unreadable_reserves_it(stack: Stack) -> None:
    for id in ("a", "b"):
        assert stack.client("PUT", f"/devices/{id}", {"serial": f"s-{id}"}).status == 201
    stack.damage(ItemKey("acme#Device", "a"), {"serial": {"L": []}})
    assert stack.client("PATCH", "/devices/a", {"serial": "s-b"}).status == 409
    assert stack.client("PATCH", "/devices/a", {"serial": "s-c"}).status == 200
    assert stack.client("PUT", "/devices/d", {"serial": "s-c"}).status == 409
    stack.damage(ItemKey("acme#Device", "a"), {"version": {"S": "1"}})
    assert stack.client("DELETE", "/devices/a").status == 204


@pytest.mark.parametrize(
    "damage", [{"version": {"S": "1"}}, {"version": {"N": "2.5"}}, {"created_at": None}]
)
def test_an_item_with_versions_is_replaced_above_its_newest_version(
    stack: Stack, damage: Mapping[str, Any]
) -> None:
    for text in ("a", "b"):
        stack.client("PUT", "/notes/n", {"text": text})
    stack.damage(NOTE, damage)
    (at_fault,) = damage
    answer = stack.client("GET", "/notes/n")
    assert (answer.status, answer.fields) == (409, {at_fault})
    written = stack.client("PUT", "/notes/n", {"text": "c"}, if_match=answer.headers["ETag"])
    assert written.status == (201 if at_fault == "created_at" else 200)
    assert written.json["version"] == 3
    stack.damage(NOTE, damage)
    changed = stack.client("PATCH", "/notes/n", {"text": "d"})
    assert (changed.status, changed.json["version"]) == (200, 4), changed.text
    assert [each.text for each in stack.list_versions()] == ["d", "c", "b", "a"]
    stack.damage(NOTE, damage)
    assert stack.client("DELETE", "/notes/n").status == 204
    assert stack.client("GET", "/notes/n").status == 404
    assert stack.client("PUT", "/notes/n", {"text": "e"}).json["version"] == 6


def test_a_readable_version_above_the_newest_version_item_counts(stack: Stack) -> None:
    stack.client("PUT", "/notes/n", {"text": "a"})
    stack.damage(NOTE, {"version": {"N": "7"}, "created_at": {"S": "never"}})
    assert stack.client("PUT", "/notes/n", {"text": "b"}, if_match='"6"').status == 412
    assert stack.client("PUT", "/notes/n", {"text": "b"}, if_match='"7"').json["version"] == 8


def test_no_version_is_restored_over_an_item_that_cannot_be_read(stack: Stack) -> None:
    stack.client("PUT", "/notes/n", {"text": "a"})
    stack.damage(NOTE, {"version": {"S": "1"}})
    with pytest.raises(UnreadableError, match=r"Note\.version"):
        stack.deployment.open_book("acme").restore(Note.versions.at("n", version=1))
