"""Fields of a list that its rows have copied: read from the index alone, as old as the index."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.api_client import Client
from tests.support.deployment import Served

SHOWN = "fields=id,date,status,total"


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
        assert acme.everything(f"/customers/idx/orders?{SHOWN}", limit) == shown
    assert fetched == []
    one = acme.everything("/customers/idx/orders?fields=id,customer", limit=5)
    assert one == [{"id": each["id"], "customer": "idx"} for each in newest]
    assert acme.everything("/customers/idx/orders", limit=5) == newest
    assert len(fetched) >= 24
    page = acme.good("GET", f"/customers/idx/orders?{SHOWN}&limit=5")
    rest = acme.good("GET", f"/customers/idx/orders?limit=100&cursor={page['cursor']}")
    assert rest["items"] == newest[5:]


def test_what_a_row_shows_is_as_old_as_the_index(served: Served, acme: Client) -> None:
    made = acme.good("POST", "/orders", {"date": "2026-02-01", "customer": "lag"})
    served.catch_up()
    there = f"/orders/{made['id']}?date=2026-02-01"
    acme.good("PATCH", there, {"status": "shipped"})
    assert acme.everything("/customers/lag/orders?fields=status") == [{"status": "open"}]
    assert acme.everything("/customers/lag/orders")[0]["status"] == "shipped"
    served.catch_up()
    assert acme.everything("/customers/lag/orders?fields=status") == [{"status": "shipped"}]


@pytest.mark.parametrize("names", ["", "nmae", "status,", "PK"])
def test_fields_that_no_order_has(acme: Client, names: str) -> None:
    answer = acme("GET", f"/customers/idx/orders?fields={names}")
    assert (answer.status, answer.fields) == (422, {"fields"})
    assert acme("GET", "/customers/idx/orders?open=true&fields=id").status == 400
