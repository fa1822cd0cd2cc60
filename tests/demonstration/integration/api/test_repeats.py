"""Users, orders, places and devices under an Idempotency-Key, and changed by two at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.support.api_client import Client
from tests.support.deployment import Served

DAY = "2026-11-20"
AT = "2026-11-20T01:02:03Z"
PUT, POST, PATCH, DELETE = "PUT", "POST", "PATCH", "DELETE"
Change = tuple[str, str, dict[str, Any], dict[str, Any]]
CHANGES: list[Change] = [
    (PUT, "/users/re%23peat", {"name": "Ann"}, {"name": "Bob"}),
    (POST, "/users", {"name": "Ann"}, {"name": "Bob"}),
    (PATCH, "/users/there", {"age": 3}, {"age": 4}),
    (POST, "/orders", {"date": DAY, "customer": "c"}, {"date": DAY, "customer": "d"}),
    (PUT, "/places/a%23/b$/c!/d", {"population": 1}, {"population": 2}),
    (PUT, "/places?country=a%2Fb&region=r&state=s&city=c", {"note": "n"}, {"note": "m"}),
    (POST, "/devices/d%231/reports", {"at": AT, "message": "m"}, {"at": AT, "message": "n"}),
]  # fmt: skip


@pytest.mark.parametrize(("method", "url", "body", "other"), CHANGES)
def test_a_repeat_under_a_key_does_nothing(
    served: Served, acme: Client, globex: Client, method: str, url: str, body: Any, other: Any
) -> None:
    key = f"{method} {url}"
    acme.good("PUT", "/users/there", {"name": "There"})
    first = acme(method, url, body, idempotency_key=key)
    assert first.status in (200, 201), first.text
    before = served.count()
    again = acme(method, url, body, idempotency_key=key)
    assert (again.status, again.json) == (first.status, first.json)
    assert again.headers["ETag"] == first.headers["ETag"]
    refused = acme(method, url, other, idempotency_key=key)
    assert refused.status == 422, refused.text
    assert "Idempotency-Key" in refused.text
    assert served.count() == before
    theirs = globex(method, url, other, idempotency_key=key)  # keys are the tenant's own
    assert theirs.status in (201, 404)


@pytest.mark.parametrize(
    ("url", "body"),
    [("/users/race", {"name": "n"}), ("/places/r/a/c/e", {}), ("/users/race2", {"name": "n"})],
)
def test_of_many_who_create_one_does(acme: Client, url: str, body: Any) -> None:
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: acme("PUT", url, body, if_none_match="*"), range(6)))
    assert sorted(each.status for each in answers) == [201, *[412] * 5]
    assert acme.good("GET", url)["version"] == 1


def test_of_many_who_resolve_a_report_each_is_counted_once(acme: Client) -> None:
    made = acme("POST", "/devices/many/reports", {"at": AT, "escalated_to": "sara"})
    there = made.headers["Location"]
    with ThreadPoolExecutor(6) as pool:
        changes = [{"resolved": True}, {"message": "m"}, {"status": "failure"}] * 2
        answers = list(pool.map(lambda change: acme("PATCH", there, change), changes))
    assert {each.status for each in answers} == {200}
    found = acme.good("GET", there)
    assert (found["resolved"], found["message"], found["status"]) == (True, "m", "failure")
    assert found["version"] == 7
    with ThreadPoolExecutor(6) as pool:
        races = list(
            pool.map(lambda n: acme("PATCH", there, {"message": str(n)}, if_match='"7"'), range(6))
        )
    assert sorted(each.status for each in races) == [200, *[412] * 5]
