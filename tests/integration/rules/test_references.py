"""What others refer to is not deleted (``ref(on_delete="refuse")``)."""

from __future__ import annotations

import itertools
import random
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from daicho.book.book import Book
from daicho.errors import Raced, Referred, Refusal
from daicho.storage.attributes import ItemKey
from daicho.write import item_writer, referrers
from daicho.write.referrers import CLOSING_MARK, Referrers
from tests.simulator.oracle.unique_values import compare_unique_values
from tests.support.api_client import Client
from tests.support.deployment import Served
from tests.support.ruled_domains.accounts import Account, Booking, Member, MemberNote

NUMBERS = itertools.count()


@pytest.fixture
def id(acme: Client) -> str:
    name = f"a{next(NUMBERS)}"
    for path in ("accounts", "ledgers"):
        acme.good("PUT", f"/{path}/{name}", {})
    return name


def open_book(served: Served) -> Book:
    return Book(served.table, served.ledger, "acme")


@pytest.mark.parametrize(("path", "field"), [("accounts", "account"), ("ledgers", "ledger")])
@pytest.mark.parametrize("headers", [{}, {"If_Match": '"1"'}, {"Idempotency_Key": "k"}])
def test_what_is_referred_to_stays(
    acme: Client, id: str, path: str, field: str, headers: dict[str, str]
) -> None:
    if "Idempotency_Key" in headers:
        headers = {"Idempotency_Key": f"{id}{path}"}
    booking = acme.good("POST", "/bookings", {"account": id, "ledger": id})
    refused = acme("DELETE", f"/{path}/{id}", **headers)
    assert (refused.status, refused.json["type"].rpartition("/")[2]) == (409, "referred")
    assert refused.json["detail"] == f"Booking {booking['id']} refers to it by {field}"
    assert acme("GET", f"/{path}/{id}").status == 200
    acme.good("DELETE", f"/bookings/{booking['id']}")
    headers = {name: f"{value}2" for name, value in headers.items() if name != "If_Match"}
    assert acme("DELETE", f"/{path}/{id}", **headers).status == 204
    assert acme("POST", "/bookings", {"account": id, "ledger": id}).status == 422


def test_a_reference_that_changes(acme: Client, id: str) -> None:
    acme.good("PUT", "/accounts/other", {})
    booking = acme.good("POST", "/bookings", {"account": id})
    acme.good("PATCH", f"/bookings/{booking['id']}", {"note": "x"})
    assert acme("DELETE", f"/accounts/{id}").status == 409
    acme.good("PATCH", f"/bookings/{booking['id']}", {"account": "other"})
    assert acme("DELETE", f"/accounts/{id}").status == 204
    assert acme("DELETE", "/accounts/other").status == 409


def test_who_may_not_read_the_other_item_does_not_learn_its_key(acme: Client, id: str) -> None:
    owner = Client(acme.handler, "acme", {"sub": "owner"})
    owner.good("POST", "/secrets", {"account": id})
    assert acme("DELETE", f"/accounts/{id}").json["detail"] == (
        "an item of Secret refers to it by account"
    )


def test_an_expired_item_refers_to_nothing(acme: Client, served: Served, id: str) -> None:
    booking = acme.good("POST", "/bookings", {"account": id})
    key = ItemKey(f"acme#Booking#{booking['id']}", "-")
    served.table.update(key, "SET #t = :t", names={"#t": "ttl"}, values={":t": {"N": "1"}})
    assert acme("DELETE", f"/accounts/{id}").status == 204


def test_in_a_transaction(served: Served, id: str) -> None:
    book = open_book(served)
    booking = book.create(Booking(account=id))
    with pytest.raises(Referred), book.transaction():
        book.delete(Account.key(id))
    with book.transaction():
        book.delete(Booking.key(booking.id))
        book.delete(Account.key(id))
    assert open_book(served).find(Account.key(id)) is None
    with pytest.raises(Referred), book.transaction():
        book.create(Account(id=id))
        book.create(Booking(account=id))
        book.delete(Account.key(id))


def test_a_reference_that_is_set_between_the_looks_is_found(
    served: Served, id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_all = Referrers._check_all
    looks = itertools.count()

    def look(self: Referrers, *arguments: Any) -> None:
        check_all(self, *arguments)
        if next(looks) == 0:
            open_book(served).create(Booking(account=id))

    monkeypatch.setattr(Referrers, "_check_all", look)
    with pytest.raises(Referred):
        open_book(served).delete(Account.key(id))


def test_nothing_refers_to_an_item_that_is_about_to_be_deleted(
    served: Served, id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = ItemKey(f"acme#Account#{id}", "-")
    mark = {":m": {"N": "4000000000"}}
    served.table.update(key, "SET #c = :m", names={"#c": CLOSING_MARK}, values=mark)
    monkeypatch.setattr(item_writer, "RACE_RETRY_S", 0.1)
    with pytest.raises(Raced):
        open_book(served).create(Booking(account=id))
    monkeypatch.setattr(referrers, "CLOSING_S", -4_000_000_000)  # it was interrupted long ago
    open_book(served).create(Booking(account=id))


def test_deletions_and_references_at_the_same_time(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No reference is left to nothing, and each reservation is right."""
    monkeypatch.setattr(item_writer, "RACE_RETRY_S", 0.3)
    names = [f"race{number}" for number in range(4)]
    chance = random.Random(7)

    def act(seed: int) -> str:
        book, name = open_book(served), names[seed % 4]
        draw = random.Random(seed)
        try:
            match draw.randrange(4):
                case 0:
                    book.put(Account(id=name))
                case 1:
                    book.delete(Account.key(name))
                case 2:
                    book.put(Booking(id=f"{name}-{draw.randrange(3)}", account=name))
                case 3:
                    book.delete(Booking.key(f"{name}-{draw.randrange(3)}"))
        except Refusal as refusal:
            return type(refusal).__name__
        return "done"

    seeds = [chance.randrange(1 << 30) for _ in range(250)]
    with ThreadPoolExecutor(6) as pool:
        outcomes = list(pool.map(act, seeds))
    assert outcomes.count("done") > 50
    assert outcomes.count("Referred") > 5
    images = served.list_items()
    referred = {image["account"]["S"] for image in images if image.get("type") == {"S": "Booking"}}
    accounts = {image["PK"]["S"] for image in images}
    for name in referred.intersection(names):
        assert f"acme#Account#{name}" in accounts
    assert compare_unique_values(images, served.ledger, int(time.time())).differences == []


def test_a_reference_that_was_checked_before_the_mark_is_not_set_after_it(
    served: Served, id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_all = Referrers._check_all
    looks = itertools.count()
    book = open_book(served)
    staged = book.transaction()
    staged.__enter__()
    book.create(Booking(account=id))

    def look(self: Referrers, *arguments: Any) -> None:
        check_all(self, *arguments)
        if next(looks) == 1:
            with pytest.raises(Raced):
                staged.__exit__(None, None, None)

    monkeypatch.setattr(Referrers, "_check_all", look)
    open_book(served).delete(Account.key(id))
    assert open_book(served).find(Account.key(id)) is None


def test_what_refers_to_it_is_deleted_first(acme: Client, served: Served) -> None:
    acme.good("PUT", "/groups/g", {})
    book = open_book(served)
    for number in range(13):
        book.create(Member(id=f"m{number}", group="g"))
    book.create(MemberNote(id="n", member="m7"))
    refused = acme("DELETE", "/groups/g", If_Match='"2"')
    assert refused.status == 412, "nothing is deleted before the item could be"
    assert acme("DELETE", "/groups/g").status == 204
    found = {image["type"]["S"] for image in served.list_items() if "type" in image}
    assert found.isdisjoint({"Group", "Member", "MemberNote"})


def test_a_rule_stops_a_cascade_and_nothing_refers_to_nothing(acme: Client) -> None:
    acme.good("PUT", "/groups/h", {})
    acme.good("PUT", "/members/a", {"group": "h"})
    acme.good("PUT", "/member-notes/b", {"member": "a", "kept": True})
    refused = acme("DELETE", "/groups/h")
    assert (refused.status, refused.json["type"].rpartition("/")[2]) == (409, "forbidden-change")
    for path in ("/groups/h", "/members/a", "/member-notes/b"):
        assert acme("GET", path).status == 200
