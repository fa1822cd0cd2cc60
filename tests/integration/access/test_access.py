"""What callers without a role, with another role and of another tenant get of one user's items."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from daicho import Domain, Entity, Key, field, uid
from daicho.book.book import Book
from daicho.declare.registry import Daicho
from daicho.declare.rules.caller import Caller
from daicho.errors import Forbidden, Invalid, NotFound
from daicho.plan import Ledger
from daicho.query.access import Access
from daicho.testing import MemoryDeployment
from daicho.web.routes.builder import build_operations
from tests.support.api_client import Answer, Client
from tests.support.memory_served import MemoryServed, serve_in_memory
from tests.support.owned_domain import DAICHO, Bill, Draft, Remark, Share, domain


class Ticket(Entity):
    """Its owner is a plain field, which has no rule."""

    id: str = uid()
    owner: str = field(default="")

    key = Key(id)


tickets = Domain("tickets", Ticket)
tickets.access(Ticket, write="staff")
TICKETS = Daicho(tickets)
SECRET = "secret-of-mika"
BILL: Any = {"customer": SECRET, "at": "2026-11-01"}
KEY = {"Idempotency_Key": "k"}


@dataclass(frozen=True)
class House:
    """The items of mika, and clients of others."""

    api: MemoryServed
    bill: str
    scan: str
    remark: str
    label: str

    def client(self, subject: str, *groups: str, tenant: str = "acme") -> Client:
        return self.api.sign_in(subject, *groups, tenant=tenant)

    def fill(self, url: str) -> str:
        for name in ("bill", "scan", "remark", "label"):
            url = url.replace(f"<{name}>", getattr(self, name))
        return url


def build_house() -> House:
    api = serve_in_memory(domain)
    mika, staff = api.sign_in("mika"), api.sign_in("boss", "staff")
    bill = mika.good("POST", "/bills", BILL)["id"]
    label = staff.good("POST", "/labels", {"name": "l"})["id"]
    for text in ("one", "two"):
        mika.good("PUT", "/drafts/d", {"text": f"{SECRET} {text}"})
    mika.good("PUT", "/folders/f", {"parts": {"a": SECRET, "b": 2}})
    scan = mika.good("POST", "/scans", {"image": {"type": "image/png", "bytes": 10}})["id"]
    remark = mika.good("POST", "/remarks", {"bill": bill})["id"]
    book = api.deployment.open_book("acme")
    book.create(Share(source=bill, target=bill, owner="mika", note=SECRET))
    api.deployment.catch_up()
    return House(api, bill, scan, remark, label)


@pytest.fixture(scope="module")
def house() -> House:
    """For tests that change nothing of mika."""
    return build_house()


READS = {
    "/bills/<bill>": 404,
    "/bills/<bill>?fields=customer": 404,
    "/bills?owner=mika": 403,
    "/bills?owner=mika&status=open": 403,
    "/bills?owner=mika&status=open&fields=total": 403,
    f"/bills?customer={SECRET[:3]}": 403,
    "/bills/count": 403,
    "/audits?status=open": 403,
    "/totals/2026-11": 403,
    "/totals/2026-11/mika": 403,
    "/my-figures?owner=mika": 403,
    "/drafts/d?owner=mika": 404,
    "/drafts/d/versions?owner=mika&from=9": 404,
    "/drafts/d?owner=mika&fields=text": 404,
    "/drafts?owner=mika": 403,
    "/drafts/d/versions?owner=mika": 404,
    "/drafts/d/versions/1?owner=mika": 404,
    "/drafts/d/versions/1?owner=mika&fields=text": 404,
    "/folders/f?owner=mika": 404,
    "/folders/f/a?owner=mika": 404,
    "/folders?owner=mika": 403,
    "/shares/<bill>/<bill>": 404,
    "/shares/<bill>": 403,
    "/bills/<bill>/bills": 403,
    "/remarks/<remark>": 404,
    "/leak": 403,
    "/leaks/<bill>": 404,
}
"""Requests for what mika owns, and what a caller without a role gets."""

WRITES: dict[tuple[str, str], tuple[Any, int, int]] = {
    ("PATCH", "/bills/<bill>"): ({"total": 5}, 404, 403),
    ("PUT", "/bills/<bill>/labels/<label>"): (None, 404, 403),
    ("DELETE", "/bills/<bill>/labels/<label>"): (None, 404, 204),  # it is no member already
    ("PUT", "/drafts/d?owner=mika"): ({"text": "mine"}, 403, 403),
    ("PUT", "/drafts/new?owner=mika"): ({"text": "mine"}, 403, 403),
    ("PATCH", "/drafts/d?owner=mika"): ({"text": "mine"}, 404, 403),
    ("DELETE", "/drafts/d?owner=mika"): (None, 404, 403),
    ("DELETE", "/drafts/d/versions?owner=mika"): (None, 404, 403),
    ("POST", "/drafts/d/versions/1/restore?owner=mika"): (None, 404, 403),
    ("PUT", "/folders/f?owner=mika"): ({"parts": {"a": 1}}, 403, 403),
    ("DELETE", "/folders/f?owner=mika"): (None, 404, 403),
    ("PUT", "/folders/f/a?owner=mika"): (7, 404, 403),
    ("DELETE", "/folders/f/a?owner=mika"): (None, 404, 403),
    ("DELETE", "/scans/<scan>"): (None, 403, 403),
    ("DELETE", "/shares/<bill>/<bill>"): (None, 404, 403),
    ("DELETE", "/remarks/<remark>"): (None, 404, 403),
    ("POST", "/bills"): ({**BILL, "owner": "mika"}, 403, 403),
    ("PATCH", "/labels/<label>"): ({"name": "x"}, 403, 403),
    ("DELETE", "/labels/<label>"): (None, 403, 403),
    ("POST", "/labels"): ({"name": "x"}, 403, 403),
}
"""Writes of what mika owns: the body, the answer to a caller without a role, and to an auditor."""


@pytest.mark.parametrize("url", READS)
def test_reads_of_anothers_items(house: House, url: str) -> None:
    filled = house.fill(url)
    refused = house.client("yuki")("GET", filled)
    assert (refused.status, SECRET in refused.text) == (READS[url], False), refused.text
    assert house.client("", "nobody")("GET", filled).status in (403, 404)
    cashier = house.client("till", "cashier")("GET", filled)
    assert cashier.status == READS[url], cashier.text
    allowed = "auditor" if "totals/2026-11" in url else "staff"
    seen = house.client("boss", allowed)("GET", filled)
    assert seen.status == 200, seen.text
    other = house.client("mika", "staff", "auditor", tenant="globex")("GET", filled)
    assert other.status in (200, 404)
    assert SECRET not in other.text


def test_the_owner_reads_what_others_do_not(house: House) -> None:
    mika = house.client("mika")
    for url, status in READS.items():
        answer = mika("GET", house.fill(url))
        needs_role = status == 403 and "owner=mika" not in url and not url.endswith("/mika")
        assert answer.status == (403 if needs_role else 200), (url, answer.text)
    assert [each["id"] for each in mika.good("GET", "/bills")["items"]] == [house.bill]
    assert mika.good("GET", "/my-figures")["items"][0]["count"] == 1
    assert mika.good("GET", "/drafts")["items"][0]["text"] == f"{SECRET} two"
    yuki = house.client("yuki")
    assert yuki.good("GET", "/bills") == {"items": [], "cursor": None}
    assert yuki.good("GET", "/drafts") == {"items": [], "cursor": None}
    assert yuki.good("GET", "/everything")["items"]  # on purpose
    assert yuki.good("GET", f"/scans/{house.scan}")["owner"] == "mika"
    for names in ("owner", "owner,customer", "customer"):
        shown = mika.good("GET", f"/bills/{house.bill}?fields={names}")
        assert sorted(shown) == sorted(names.split(","))


def list_stored(house: House) -> list[Any]:
    """Everything but the records of requests."""
    return [item for item in house.api.list_items() if "~request" not in item["PK"]["S"]]


@pytest.mark.parametrize(("method", "url"), WRITES)
def test_writes_of_anothers_items(house: House, method: str, url: str) -> None:
    body, without, reading = WRITES[method, url]
    filled, before = house.fill(url), list_stored(house)
    key = {"Idempotency_Key": f"{method} {url}"}
    for headers in ({}, {"If_Match": '"7"'}, {"If_Match": "*"}, key):
        if "If_Match" in headers and (method == "POST" or "labels/<" in url or "/versions" in url):
            continue
        for client, status in (
            (house.client("yuki"), without),
            (house.client(""), without),
            (house.client("till", "cashier"), without),
            (house.client("eye", "auditor"), reading),
        ):
            answer = client(method, filled, body, **headers)
            # An item that cannot be read has no version either.
            expected = {status, 412} if headers.get("If_Match") == "*" else {status}
            assert answer.status in expected, (headers, answer.text)
            assert SECRET not in answer.text
    assert list_stored(house) == before


def test_a_role_of_a_verb_is_needed_besides_the_rights_of_an_owner(house: House) -> None:
    refused = house.client("mika")("DELETE", f"/bills/{house.bill}")
    assert refused.status == 403
    assert "'cashier'" in refused.text
    assert house.client("yuki", "cashier")("DELETE", f"/bills/{house.bill}").status == 404
    assert house.client("eye", "auditor", "cashier")("DELETE", f"/bills/{house.bill}").status == 403


def test_sections_of_another(house: House) -> None:
    """Without an owner they are those of the caller, or a 404."""
    yuki, mika = house.client("yuki"), house.client("mika")
    for method, body in (("GET", None), ("PUT", 7), ("DELETE", None)):
        assert yuki(method, "/folders/f/a", body).status == 404
    assert mika.good("GET", "/folders/f/a") == SECRET


def test_a_book_of_a_caller_in_a_function() -> None:
    house = build_house()
    rules = DAICHO.access_rules

    def open_book(*groups: str, subject: str = "yuki") -> Book:
        caller = Caller(subject, frozenset(groups), "acme")
        return house.api.open_book(Access(caller, rules))

    book, key = open_book(), Bill.key(house.bill)
    assert book.find(key) is None
    assert book.find_all([key]) == [None]
    with book.transaction() as t:
        assert t.find(key) is None
        assert t.find_all([key]) == [None]
    writes: list[Callable[[Book], Any]] = [
        lambda b: b.change(key, {"total": 2}),
        lambda b: b.delete(key),
        lambda b: b.put(Bill(id=house.bill, **BILL)),
        lambda b: b.put(Bill(id=house.bill, **BILL), if_none_match=True),
        lambda b: b.put(Bill(id=house.bill, **BILL), if_match=7),
    ]
    for write in writes:
        with pytest.raises(NotFound):
            write(book)
        with pytest.raises(NotFound), book.transaction():
            write(book)
        with pytest.raises(Forbidden, match="only its owner or the role 'staff'"):
            write(open_book("auditor"))
    with pytest.raises(NotFound), book.transaction() as t:
        t.change(key, {"total": 2})
    with pytest.raises(Forbidden):
        book.page(Bill.mine("yuki"), Bill.mine("mika"))
    with pytest.raises(Forbidden):
        book.add(Remark.likes("mika"))
    assert book.add(Remark.likes("yuki")).counted == "yes"
    with book.as_system():
        assert book.get(key).owner == "mika"
        assert book.change(key, {"total": 3}).total == 3
    assert book.find(key) is None
    mine = book.create(Remark(bill=house.bill))  # a reference to what yuki cannot read
    assert mine.owner == "yuki"
    replaced = open_book("staff", subject="boss").put(Bill(id=house.bill, **BILL))
    assert (replaced.owner, replaced.version) == ("mika", 3)
    with pytest.raises(Forbidden, match="no subject"):
        open_book(subject="").create(Bill(**BILL))
    with pytest.raises(Invalid, match="give an owner"):
        house.api.deployment.open_book("acme").create(Bill(**BILL))


def test_versions_of_an_earlier_owner() -> None:
    """An item of the same key that somebody else creates later shows no earlier version."""
    house = build_house()
    deleted = house.client("mika")("DELETE", "/drafts/d")
    assert deleted.status == 204
    system = house.api.deployment.open_book("acme")
    with pytest.raises(NotFound):
        system.get(Draft.key("mika", "d"))
    assert house.client("mika").good("GET", "/drafts/d/versions")["items"]
    assert house.client("yuki")("GET", "/drafts/d/versions?owner=mika").status == 404
    url = "/drafts/d/versions/1/restore?owner=mika"
    assert house.client("yuki")("POST", url).status == 404
    assert house.client("eye", "auditor")("POST", url).status == 403
    assert house.client("mika").good("POST", url)["text"] == f"{SECRET} one"


def test_uploads_are_writes() -> None:
    house = build_house()
    url = f"/scans/{house.scan}?upload=true"
    assert house.client("yuki")("GET", f"/scans/{house.scan}").status == 200
    assert house.client("yuki")("GET", url).status == 403
    assert "upload" in house.client("mika").good("GET", url)["image"]


def test_a_repeat_of_another_subject_is_executed() -> None:
    house = build_house()
    first = house.client("mika").good("POST", "/bills", BILL, **KEY)
    assert house.client("mika").good("POST", "/bills", BILL, **KEY) == first
    second = house.client("yuki").good("POST", "/bills", BILL, **KEY)
    assert (first["owner"], second["owner"]) == ("mika", "yuki")


def test_an_item_without_an_owner_gets_one_by_a_put() -> None:
    house = build_house()
    table = house.api.deployment.table
    (stored,) = [item for item in house.api.list_items() if item.get("id") == {"S": house.bill}]
    table.put({name: value for name, value in stored.items() if name != "owner"})
    mika, boss = house.client("mika"), Caller("boss", frozenset({"staff"}), "acme")
    assert mika("GET", f"/bills/{house.bill}").status == 404
    book = house.api.open_book(Access(boss, DAICHO.access_rules))
    assert book.get(Bill.key(house.bill)).owner == ""
    assert book.change(Bill.key(house.bill), {"customer": SECRET}).owner == ""
    (changed,) = [item for item in house.api.list_items() if item.get("id") == {"S": house.bill}]
    assert "owner" not in changed
    assert house.client("")("DELETE", f"/bills/{house.bill}").status in (403, 404)
    assert book.put(Bill(id=house.bill, owner="mika", **BILL)).version == 3
    assert mika.good("GET", f"/bills/{house.bill}")["owner"] == "mika"


def test_nobody_without_the_role_removes_an_item_whose_plain_field_is_empty() -> None:
    deployment = MemoryDeployment(TICKETS.append_generations(Ledger()))
    deployment.open_book("acme").create(Ticket(id="1"))
    caller = Caller("yuki", frozenset(), "acme")
    book = deployment.open_book("acme", Access(caller, TICKETS.access_rules))
    with pytest.raises(Forbidden):
        book.delete(Ticket.key("1"))
    assert deployment.open_book("acme").find(Ticket.key("1")) is not None


def test_a_role_names_another_owner(house: House) -> None:
    staff = house.client("boss", "staff")
    bill = staff.good("POST", "/bills", {**BILL, "owner": "ren"})
    assert house.client("ren").good("GET", f"/bills/{bill['id']}") == bill
    changed = staff("PATCH", f"/bills/{bill['id']}", {"owner": "boss"})
    assert (changed.status, changed.fields) == (422, {"owner"})


def _list_requests(chance: random.Random, house: House) -> Iterator[tuple[str, str, Any]]:
    """A request to each operation, with values that may be those of mika."""
    values = ["mika", "yuki", "d", "f", "a", "open", "2026-11", house.bill, house.scan, "1", "x"]
    bodies = [BILL, {"owner": "mika"}, {"text": "x"}, {"parts": {}}, {"name": "n"}, 1, None]
    for operation in build_operations(DAICHO):
        if operation.path == "/everything":
            continue
        path = re.sub(r"{\w+}", lambda _: chance.choice(values), operation.path)
        variant = chance.choice(operation.variants)
        named = [*variant.required, *chance.sample(variant.optional, len(variant.optional) // 2)]
        query = "&".join(f"{each.name}={chance.choice(values)}" for each in named)
        body = BILL if operation.path == "/bills" else chance.choice(bodies)
        yield operation.method, f"{path}?{query}", body


def test_no_request_shows_or_changes_what_another_owns() -> None:
    """Fuzz: callers without a role, under all routes."""
    house, chance = build_house(), random.Random(22)
    clients = [house.client(name, *roles) for name in ("yuki", "") for roles in ((), ("cashier",))]
    mikas = [item for item in house.api.list_items() if "mika" in str(item)]
    answers: list[Answer] = []
    for _ in range(12):
        for method, url, body in _list_requests(chance, house):
            headers = chance.choice([{}, {"If_Match": '"1"'}, KEY] if method != "GET" else [{}])
            answer = chance.choice(clients)(method, url, body, **headers)
            assert answer.status < 500, answer.text
            if "/labels" not in url:
                assert SECRET not in answer.text or (answer.status in (200, 201) and body == BILL)
            answers.append(answer)
    items = house.api.list_items()
    assert [item for item in mikas if item not in items] == []
    assert {403, 404, 200, 201} <= {answer.status for answer in answers}
