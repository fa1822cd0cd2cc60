"""What bodies may say, and what is shown."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.api_client import Client
from tests.support.sample_domain import FakeBook

WHOLE: dict[str, Any] = {
    "name": "Ann",
    "company": "Acme",
    "born": "1990-02-03",
    "seen": "2026-11-21T01:05:40+09:00",
    "vip": True,
    "credit": "12.50",
    "weight": 60.5,
    "nickname": None,
    "secret": "hush",
    "kind": "firm",
    "categories": ["b", "a", "b"],
}


def test_all_types_come_back(client: Client) -> None:
    made = client.good("POST", "/contacts", WHOLE)
    assert "secret" not in made
    assert made.pop("id")
    assert made == {
        **{name: value for name, value in WHOLE.items() if name != "secret"},
        "seen": "2026-11-20T16:05:40Z",
        "categories": ["a", "b"],
        "created_at": "2026-11-21T12:00:00Z",
        "version": 1,
    }


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ("2026-11-21T01:05:40.1234567Z", "2026-11-21T01:05:40.123456Z"),
        ("2026-11-21T01:05:40.123456789Z", "2026-11-21T01:05:40.123456Z"),
        ("2026-11-21T01:05:40.999999999+09:00", "2026-11-20T16:05:40.999999Z"),
        ("2026-11-21t01:05:40.5z", "2026-11-21T01:05:40.500000Z"),
    ],
)
def test_an_instant_is_cut_off_at_its_microseconds(client: Client, sent: str, stored: str) -> None:
    made = client.good("PUT", "/contacts/1", {"name": "Ann", "seen": sent})
    assert made["seen"] == stored
    assert client.good("GET", "/contacts/1")["seen"] == stored


def test_what_is_left_out_has_its_default(client: Client) -> None:
    made = client.good("PUT", "/contacts/1", {"name": "Ann"})
    assert (made["company"], made["kind"], made["categories"], made["born"]) == (
        "", "person", [], None,
    )  # fmt: skip


def test_what_is_hidden_is_kept(client: Client, book: FakeBook) -> None:
    client.good("PUT", "/contacts/1", WHOLE)
    (kept,) = book.items.values()
    assert kept.secret == "hush"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("name", 5), ("name", None), ("name", ["Ann"]),
        ("born", "1990-02-30"), ("born", 7), ("born", "1990-02-03T00:00:00Z"), ("born", "86400"),
        ("seen", "2026-11-21T01:05:40"), ("seen", 1_700_000_000), ("seen", "1700000000"),
        ("seen", "2026-11-21T01:05:40.1234567890Z"), ("seen", "2026-11-21T01:05:40.Z"),
        ("vip", 1), ("vip", "true"),
        ("credit", "x"), ("credit", True), ("credit", "1" * 39), ("credit", "NaN"),
        ("weight", "5"), ("weight", 1e300),
        ("kind", "other"), ("categories", "a"), ("categories", {"a": 1}),
        ("id", "mine"), ("version", 1), ("created_at", "2026-11-21T01:05:40Z"), ("nmae", "x"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_wrong_values_are_named(
    client: Client, book: FakeBook, method: str, field: str, wrong: Any
) -> None:
    url = "/contacts" if method == "POST" else "/contacts/1"
    body = {field: wrong} if method == "PATCH" else {"name": "Ann", field: wrong}
    answer = client(method, url, body)
    assert (answer.status, answer.fields) == (422, {field}), answer.text
    assert not book.items


def test_only_a_category_of_a_set_is_named_by_its_place(client: Client) -> None:
    answer = client("POST", "/contacts", {"name": "Ann", "categories": ["a", 5]})
    assert answer.fields == {"categories[1]"}
    many = client("POST", "/contacts", {"name": "Ann", "categories": [f"{n}" for n in range(51)]})
    assert many.fields == {"categories"}


def test_what_is_frozen_cannot_be_patched(client: Client) -> None:
    client.good("PUT", "/contacts/1", WHOLE)
    assert client("PATCH", "/contacts/1", {"kind": "person"}).fields == {"kind"}


def test_patch_takes_null_only_where_the_field_does(client: Client) -> None:
    client.good("PUT", "/contacts/1", WHOLE)
    assert client.good("PATCH", "/contacts/1", {"born": None})["born"] is None
    for field in ("name", "vip", "company", "categories"):
        assert client("PATCH", "/contacts/1", {field: None}).fields == {field}
    assert client.good("PATCH", "/contacts/1", {})["name"] == "Ann"


def test_key_fields_outside_the_path_are_parameters(client: Client, book: FakeBook) -> None:
    made = client("POST", "/orders", {"date": "2026-11-21", "customer": "ann"})
    id = made.json["id"]
    assert made.headers["Location"] == f"/orders/{id}?date=2026-11-21"
    assert client.good("GET", made.headers["Location"]) == made.json
    shipped = client.good("PATCH", f"/orders/{id}?date=2026-11-21", {"status": "shipped"})
    assert shipped["status"] == "shipped"
    assert client("GET", f"/orders/{id}?date=2026-11-22").status == 404
    assert client("GET", f"/orders/{id}").status == 400
    assert client("GET", f"/orders/{id}?date=today").fields == {"date"}
    assert client("PATCH", f"/orders/{id}?date=2026-11-21", {"date": "2026-11-22"}).status == 422
