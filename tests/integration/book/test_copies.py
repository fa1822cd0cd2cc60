"""Lists whose rows bring along what is shown: read from the index alone, as old as the index."""

from __future__ import annotations

from typing import Any

import pytest

from daicho.storage.table import Table
from tests.support.api_client import Client
from tests.support.deployment import Served
from tests.support.sample_entities import Copied, Shelf, walk

SHOWN = "fields=id,date,status,total"


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The items that pages have read in the table."""
    asked: list[Any] = []
    get = Table.batch_get

    def watched(self: Table, keys: Any, **options: Any) -> Any:
        asked.extend(keys := list(keys))
        return get(self, keys, **options)

    monkeypatch.setattr(Table, "batch_get", watched)
    return asked


def test_a_history_from_the_index_alone(
    served: Served, acme: Client, globex: Client, fetched: list[Any]
) -> None:
    made = [
        acme.good("POST", "/orders", {"date": f"2026-0{1 + n % 9}-05", "customer": "idx"})
        for n in range(12)
    ]
    globex.good("POST", "/orders", {"date": "2026-01-05", "customer": "idx"})
    served.catch_up()
    newest = sorted(made, key=lambda each: (each["date"], each["created_at"]), reverse=True)
    fields = ("id", "date", "status", "total")
    shown = [{name: each[name] for name in fields} for each in newest]
    for limit in (1, 5, 100):
        assert acme.everything(f"/users/idx/orders?{SHOWN}", limit) == shown
    assert fetched == []
    one = acme.everything("/users/idx/orders?fields=id,customer", limit=5)
    assert one == [{"id": each["id"], "customer": "idx"} for each in newest]
    assert acme.everything("/users/idx/orders", limit=5) == newest
    assert len(fetched) >= 24
    page = acme.good("GET", f"/users/idx/orders?{SHOWN}&limit=5")
    rest = acme.good("GET", f"/users/idx/orders?limit=100&cursor={page['cursor']}")
    assert rest["items"] == newest[5:]


def test_what_a_row_shows_is_as_old_as_the_index(served: Served, acme: Client) -> None:
    made = acme.good("POST", "/orders", {"date": "2026-02-01", "customer": "lag"})
    served.catch_up()
    there = f"/orders/{made['id']}?date=2026-02-01"
    acme.good("PATCH", there, {"status": "shipped"})
    assert acme.everything("/users/lag/orders?fields=status") == [{"status": "open"}]
    assert acme.everything("/users/lag/orders")[0]["status"] == "shipped"
    served.catch_up()
    assert acme.everything("/users/lag/orders?fields=status") == [{"status": "shipped"}]


@pytest.mark.parametrize("names", ["", "nmae", "status,", "PK"])
def test_fields_that_no_order_has(acme: Client, names: str) -> None:
    answer = acme("GET", f"/users/idx/orders?fields={names}")
    assert (answer.status, answer.fields) == (422, {"fields"})
    assert acme("GET", "/customers/idx/orders?open=true&fields=id").status == 400


def test_whole_items_from_the_index_alone(shelf: Shelf, fetched: list[Any]) -> None:
    book = shelf.book()
    for n in range(30):
        deep: Any = {"n": n}
        for _ in range(30):
            deep = {"in": deep}
        made = Copied(id=f"c{n:02d}", group="g", tags={"b", "a"}, secret=f"s{n}", deep=deep)
        book.create(made)
        shelf.tick(seconds=1)
    book = shelf.caught_up()
    found = walk(book, Copied.of_group("g"), limit=7)
    assert fetched == []
    assert [each.id for each in found] == [f"c{n:02d}" for n in reversed(range(30))]
    for each in found:
        assert each == book.get(Copied.key(each.id))
    book.change(Copied.key("c07"), {"group": "h"})
    book.delete(Copied.key("c08"))
    assert len(walk(book, Copied.of_group("g"), limit=7)) == 30
    book = shelf.caught_up()
    assert len(walk(book, Copied.of_group("g"), limit=7)) == 28
    assert [each.version for each in walk(book, Copied.of_group("h"), limit=7)] == [2]


def test_what_has_expired_is_hidden_from_the_index_too(shelf: Shelf) -> None:
    book = shelf.book()
    book.create(Copied(id="old", group="g"))
    shelf.caught_up()
    shelf.tick(days=2)
    assert walk(shelf.book(), Copied.of_group("g"), limit=5) == []
