"""Queries, sets of references, figures, roles, and what goes wrong within: over a book of toys."""

from __future__ import annotations

import gzip
import logging
import re
from typing import Any

import pytest

from daicho import Domain
from daicho.declare.queries import ListQuery
from daicho.errors import (
    BadCursor,
    Invalid,
    PreconditionFailed,
    RefusedError,
    ThrottledError,
    UnavailableError,
    refuse,
)
from tests.support.api_client import Client
from tests.support.sample_domain import Category, Contact, FakeBook, Link, Order, serve


@pytest.mark.parametrize(
    ("url", "question"),
    [
        ("/contacts?q=ann%20b", Contact.search("ann b")),
        ("/contacts?q=", Contact.search("")),
        ("/contacts?firms=true", Contact.firms()),
        ("/categories", Category.key.all()),
        ("/categories/c%231/contacts", Contact.in_category("c#1")),
        ("/orders?date=2026-11-21", ListQuery(Order, "partition", "key", (None,))),
        ("/contacts/ann/orders", Order.of_customer("ann")),
        ("/customers/ann/orders?open=true", Order.open("ann")),
        ("/customers/ann/orders?open=1", Order.open("ann")),
        ("/orders/o/contacts", Link.key.inverse("o")),
    ],
)
def test_queries_ask_their_declarations(
    client: Client, book: FakeBook, url: str, question: Any
) -> None:
    sign = "&" if "?" in url else "?"
    assert client.good("GET", f"{url}{sign}limit=3&cursor=c") == {"items": [], "cursor": None}
    asked, *options = book.asked
    assert (asked.entity, asked.by, asked.name) == (question.entity, question.by, question.name)
    assert question.parts in ((None,), asked.parts)
    assert options == [3, "c"]


@pytest.mark.parametrize(
    ("url", "status"),
    [
        ("/contacts", 400),
        ("/contacts?q=x&firms=true", 400),
        ("/contacts?q=x&company=y", 400),
        ("/contacts?firms=false", 422),
        ("/contacts?firms", 422),
        ("/customers/ann/orders", 400),
        ("/customers/ann/orders?open=yes", 422),
        ("/customers/ann/orders?open=0", 422),
        ("/orders", 400),
        ("/orders?date=21.11.2026", 422),
        ("/revenue/2026-00", 422),
    ],
)
def test_queries_that_are_none(client: Client, book: FakeBook, url: str, status: int) -> None:
    assert client("GET", url).status == status
    assert book.asked == []


def test_a_count_stands_beside_the_items(client: Client) -> None:
    answer = client.good("GET", "/contacts/count")
    assert answer == {"count": 7, "as_of": None, "rolled_up": True}


def test_an_item_that_could_not_be_shown_is_not_made(client: Client, book: FakeBook) -> None:
    answer = client("PUT", "/contacts/count", {"name": "Countess"})
    assert (answer.status, answer.fields) == (422, {"id"})
    assert not book.items
    client.good("PUT", "/contacts/counts", {"name": "Countess"})


def test_what_is_asked_by_in_a_path_holds_no_slash(client: Client, book: FakeBook) -> None:
    order = {"date": "2026-11-21", "customer": "a/b"}
    answer = client("POST", "/orders", order)
    assert (answer.status, answer.fields) == (422, {"customer"})
    for customer in ("a?b", "a%b"):
        answer = client("POST", "/orders", {**order, "customer": customer})
        assert (answer.status, answer.fields) == (422, {"customer"})
    made = client("POST", "/orders", {**order, "customer": "a#b"})
    assert made.status == 201
    changed = client("PATCH", made.headers["Location"], {"customer": "/"})
    assert (changed.status, changed.fields) == (422, {"customer"})
    client.good("PUT", "/contacts/1", {"name": "n/a", "company": "A/S"})


class Other(FakeBook):
    """Another has changed each item that was read."""

    def change(self, one: Any, changes: Any, *, if_match: int | None = None) -> Any:
        if len(self.asked) < 5:
            raise PreconditionFailed("other")
        return super().change(one, changes, if_match=if_match)

    has_no_writes = True


def test_of_two_who_change_a_set_one_comes_after_the_other() -> None:
    book = Other()
    client = serve(book=book)
    book.create(Category(id="b", name="B"))
    book.create(Contact(id="1", name="Ann"))
    assert client("PUT", "/contacts/1/categories/b").status == 204
    assert client.good("GET", "/contacts/1")["categories"] == ["b"]


@pytest.mark.parametrize("name", ["If_Match", "If_None_Match"])
def test_a_condition_that_nobody_would_look_at_is_refused(
    client: Client, book: FakeBook, name: str
) -> None:
    client.good("PUT", "/contacts/1", {"name": "Ann"})
    book.create(Category(id="b", name="B"))
    for method, url, body in (
        ("POST", "/contacts", {"name": "Ann"}),
        ("PUT", "/contacts/1/categories/b", None),
        *([("DELETE", "/contacts/1", None)] if name == "If_None_Match" else []),
    ):
        answer = client(method, url, body, **{name: "*"})
        assert (answer.status, answer.fields) == (400, {name.replace("_", "-")}), answer.text
    assert client.good("GET", "/contacts/1", **{name: '"9"'})["categories"] == []
    assert len(book.items) == 2


def test_a_page_that_lambda_would_not_hand_on_is_shorter(client: Client, book: FakeBook) -> None:
    large = "\u0001" * 8_000  # of each character JSON makes six, and seven of a string in JSON
    for number in range(100):
        book.create(Contact(id=str(number), name=f"{number}", nickname=large))
    answer = client("GET", "/contacts?q=x")
    assert len(answer.json["items"]) == 25
    assert answer.json["cursor"] == "more"
    assert len(client("GET", "/contacts?q=x&limit=30").json["items"]) == 30


def test_a_ranking_has_the_names_of_its_parts(client: Client, book: FakeBook) -> None:
    assert client.good("GET", "/revenue/2026-11?limit=5&live=true")["items"] == [
        {"customer": "ann", "count": 2, "total": "12.5", "rank": 1}
    ]
    assert book.asked[1] == {"limit": 5, "cursor": None, "live": True}


@pytest.mark.parametrize(("written", "live"), [("1", True), ("0", False), ("false", False)])
def test_a_boolean_is_written_in_four_ways(
    client: Client, book: FakeBook, written: str, live: bool
) -> None:
    client.good("GET", f"/revenue/2026-11?live={written}")
    assert book.asked[1]["live"] is live
    for wrong in ("2", "yes", "True", "", "01"):
        answer = client("GET", f"/revenue/2026-11?live={wrong}")
        assert (answer.status, answer.fields) == (422, {"live"})
        assert "1 or 0" in answer.json["detail"]


def test_membership_of_a_set(client: Client, book: FakeBook) -> None:
    client.good("PUT", "/contacts/1", {"name": "Ann", "categories": ["a"]})
    link = "/contacts/1/categories/b"
    assert client("PUT", link).status == 404  # there is no such category
    book.create(Category(id="b", name="B"))
    for _ in range(2):
        assert client("PUT", link).status == 204
        assert client.good("GET", "/contacts/1")["categories"] == ["a", "b"]
    assert client.good("GET", "/contacts/1")["version"] == 2  # the repeat changed nothing
    for _ in range(2):
        assert client("DELETE", link).status == 204
        assert client.good("GET", "/contacts/1")["categories"] == ["a"]
    assert client("PUT", "/contacts/none/categories/b").status == 404


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ThrottledError("slow down"), 429),
        (UnavailableError("no answer"), 503),
        (RefusedError("a bug"), 500),
        (RuntimeError("internals"), 500),
        (RecursionError(), 500),
        (BadCursor(), 400),
        (Invalid("no", field="name"), 422),
        (refuse(418, "a teapot"), 418),
    ],
)
def test_what_goes_wrong_within(
    caplog: pytest.LogCaptureFixture, error: Exception, status: int
) -> None:
    with caplog.at_level(logging.WARNING):
        answer = serve(book=FakeBook(fails=error))("GET", "/contacts/1")
    assert answer.status == status
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert "internals" not in answer.text
    assert "slow" not in answer.text
    if status in (429, 503):
        assert answer.headers["Retry-After"] == "1"
    if status == 500:
        (record,) = [each for each in caplog.records if each.levelno == logging.ERROR]
        assert record.exc_info
        assert record.__dict__["request_id"] in answer.json["detail"]


def test_a_role_is_asked_for() -> None:
    domain = Domain("admin")

    @domain.route("DELETE", "/tenant", role="admin")
    def delete(book: Any) -> None:
        return None

    client = serve(domain)
    assert client("DELETE", "/tenant").status == 403
    for claims in ({"custom:role": "admin"}, {"cognito:groups": ["staff", "admin"]}):
        assert Client(client.handler, "acme", claims)("DELETE", "/tenant").status == 204
    for claims in (
        {"custom:role": "administrator"},
        {"cognito:groups": ["not admin"]},
        {"cognito:groups": ["adminx"]},
    ):
        assert Client(client.handler, "acme", claims)("DELETE", "/tenant").status == 403


def test_the_description_needs_no_token_and_the_page_nothing_else(client: Client) -> None:
    nobody = Client(client.handler, None)
    described = nobody("GET", "/openapi.json")
    assert described.json["openapi"].startswith("3.1")
    assert "list_contact_orders" in described.text
    shown = nobody("GET", "/docs")
    assert shown.headers["Content-Type"].startswith("text/html")
    assert len(shown.text) < 2_000
    loaded = re.findall(r'(?:src|href)="([^"]*)"', shown.text)
    assert len(loaded) == 5
    for address in loaded:
        if address != "data:,":
            assert nobody("GET", f"/{address}", accept_encoding="gzip").status == 200


@pytest.mark.parametrize("path", ["/docs", "/openapi.json", "/problems", "/problems/invalid"])
def test_a_page_is_not_sent_again_unchanged(client: Client, path: str) -> None:
    nobody = Client(client.handler, None)
    first = nobody("GET", path)
    assert first.headers["Cache-Control"] == "no-cache"
    again = nobody("GET", path, if_none_match=first.headers["ETag"])
    assert (again.status, again.text) == (304, "")
    assert again.headers["ETag"] == first.headers["ETag"]
    assert nobody("GET", path, if_none_match='"other"').text == first.text


def test_the_assets_of_the_page_are_kept_for_good(client: Client) -> None:
    nobody = Client(client.handler, None)
    (script, _) = re.findall(r'src="([^"]*)"', nobody("GET", "/docs").text)
    plain = nobody("GET", f"/{script}")
    assert "immutable" in plain.headers["Cache-Control"]
    assert plain.headers["Content-Type"].startswith("text/javascript")
    compressed = nobody("GET", f"/{script}", accept_encoding="br, gzip")
    assert compressed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(compressed.text.encode("latin-1")).decode() == plain.text
    assert len(compressed.text) * 3 < len(plain.text)
    old = nobody("GET", "/docs/0123-swagger-ui.js")
    assert (old.status, old.headers["Content-Type"]) == (404, "application/problem+json")


@pytest.mark.parametrize(
    ("url", "status"),
    [
        ("/contacts?q=x", 200),
        ("/contacts/1", 200),
        ("/contacts/nobody", 404),
        ("/contacts?q=x&limit=0", 422),
        ("/contacts", 400),
        ("/contacts/1/categories/b", 405),
        ("/openapi.json", 200),
        ("/nothing", 404),
    ],
)
def test_head_has_the_headers_of_get_and_no_body(
    client: Client, book: FakeBook, url: str, status: int
) -> None:
    book.create(Contact(id="1", name="Ann"))
    shown, head = client("GET", url), client("HEAD", url)
    assert (head.status, head.text) == (status, "")
    assert (head.status, head.headers) == (shown.status, shown.headers)


def test_an_answer_too_large_for_lambda_comes_in_more_pages(client: Client, book: FakeBook) -> None:
    for number in range(30):
        book.create(Contact(id=str(number), name="n", nickname="題" * 100_000))
    answer = client("GET", "/contacts?q=")
    assert answer.status == 200
    assert len(answer.text.encode()) < 6_000_000
    assert 0 < len(answer.json["items"]) < 30
    assert answer.json["cursor"] == "more"


@pytest.mark.parametrize(
    ("method", "url", "status"),
    [
        ("GET", "/contacts?q=ann", 200),
        ("HEAD", "/contacts?q=ann", 200),
        ("GET", "/contacts", 400),
        ("GET", "/nowhere", 404),
        ("PUT", "/contacts", 405),
        ("GET", "/contacts?q=%ff", 400),
        ("GET", "/contacts/%ff", 400),
        ("GET", "/openapi.json", 200),
        ("GET", "/problems/nothing", 404),
    ],
)
def test_an_answer_is_not_stored_and_its_type_is_not_guessed(
    client: Client, method: str, url: str, status: int
) -> None:
    answer = client(method, url)
    assert answer.status == status
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    kept = "no-cache" if url == "/openapi.json" else "no-store"
    assert answer.headers["Cache-Control"] == kept


def test_a_caller_without_a_tenant_is_refused_with_the_same_headers(client: Client) -> None:
    refused = Client(client.handler, None)("GET", "/contacts?q=ann")
    assert refused.status == 403
    assert refused.headers["X-Content-Type-Options"] == "nosniff"
    assert refused.headers["Cache-Control"] == "no-store"
