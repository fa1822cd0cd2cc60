"""Users: found by the beginning of a name, shown in part, with their orders."""

from __future__ import annotations

from typing import Any

import pytest

from daicho.storage.table import Table
from tests.support.api_client import Client, segment
from tests.support.deployment import Served

ANN = {"name": "Ann Lee", "age": 41, "email": "ann@example.com", "address": "1 Main St"}


@pytest.fixture(scope="module", autouse=True)
def users(served: Served, acme: Client, globex: Client) -> None:
    acme.good("PUT", "/users/ann", ANN)
    acme.good("PUT", "/users/hikouki", {"name": "hikouki", "age": 100})
    acme.good("PUT", "/users/toby", {"name": "Toby Ann-Marie"})
    globex.good("PUT", "/users/ann", {"name": "Another"})
    served.catch_up()


def test_users_by_the_beginning_of_a_name(acme: Client, globex: Client) -> None:
    def found(client: Client, name: str) -> list[str]:
        return sorted(each["id"] for each in client.everything(f"/users?name={name}"))

    assert found(acme, "hik") == ["hikouki"]
    assert found(acme, "HIK") == ["hikouki"]
    assert found(acme, "ann") == ["ann", "toby"]
    assert found(acme, "ikouki") == []
    assert found(globex, "an") == ["ann"]
    assert found(globex, "hik") == []


def test_some_fields_of_a_user(acme: Client) -> None:
    whole = acme("GET", "/users/ann")
    for names in ("name", "age,name", "name,name", "created_at", "version,email", "country"):
        answer = acme("GET", f"/users/ann?fields={names}")
        assert answer.status == 200, answer.text
        assert answer.json == {name: whole.json[name] for name in names.split(",")}
        assert answer.headers["ETag"] == whole.headers["ETag"]
    known = ",".join(whole.json)
    assert acme.good("GET", f"/users/ann?fields={known}") == whole.json


@pytest.mark.parametrize("names", ["", "nmae", "name,", ",", "name, age", "PK", "gen", "Name", "*"])
def test_fields_that_nobody_has(acme: Client, names: str) -> None:
    answer = acme("GET", f"/users/ann?fields={segment(names)}")
    assert (answer.status, answer.fields) == (422, {"fields"})
    assert acme("GET", "/users/nobody?fields=name").status == 404
    assert acme("GET", "/users?name=ann&fields=name").status == 400


def test_fields_and_preconditions(acme: Client) -> None:
    acme.good("PUT", "/users/bo", {"name": "Bo"})
    first = acme("GET", "/users/bo?fields=name")
    tag = first.headers["ETag"]
    assert acme("GET", "/users/bo?fields=name", if_none_match=tag).status == 304
    changed = acme("PATCH", "/users/bo", {"age": 3}, if_match=tag)
    assert changed.status == 200
    again = acme("GET", "/users/bo?fields=age", if_none_match=tag)
    assert (again.status, again.json) == (200, {"age": 3})


def test_only_what_is_asked_for_is_read(
    served: Served, acme: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    get = Table.get_attributes

    def watched(self: Table, key: Any, names: Any) -> Any:
        asked.append(get(self, key, names))
        return asked[-1]

    monkeypatch.setattr(Table, "get_attributes", watched)
    acme.good("GET", "/users/ann?fields=age")
    assert asked == [{"age": {"N": "41"}, "version": {"N": "1"}}]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({}, "name"),
        ({"name": ""}, "name"),
        ({"name": "n" * 257}, "name"),
        ({"name": "n", "age": -1}, "age"),
        ({"name": "n", "age": "5"}, "age"),
        ({"name": "n", "age": 201}, "age"),
        ({"name": "n", "email": "e" * 255}, "email"),
        ({"name": "n", "id": "other"}, "id"),
        ({"name": "n", "nmae": "x"}, "nmae"),
    ],
)
def test_users_that_are_refused(acme: Client, wrong: object, field: str) -> None:
    answer = acme("PUT", "/users/new", wrong)
    assert (answer.status, answer.fields) == (422, {field})


@pytest.mark.parametrize("id", ["a#b", "$23", "a!b", "a b", "日本", "u@example.com"])
def test_a_user_of_any_id_has_orders(served: Served, acme: Client, id: str) -> None:
    there = f"/users/{segment(id)}"
    assert acme("PUT", there, {"name": id}).json["id"] == id
    for day in ("2026-01-02", "2026-03-01", "2025-12-31"):
        acme.good("POST", "/orders", {"date": day, "customer": id})
    served.catch_up()
    found = [order["date"] for order in acme.everything(f"{there}/orders", limit=1)]
    assert found == ["2026-03-01", "2026-01-02", "2025-12-31"]
