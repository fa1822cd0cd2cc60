"""Devices: reports by time, and the few that a technician must see to."""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

import pytest

from daicho.storage.keys import render_instant
from tests.support.api_client import Client, segment
from tests.support.deployment import Served


def ago(minutes: float) -> str:
    return render_instant(dt.datetime.now(dt.UTC) - dt.timedelta(minutes=minutes))


def report(client: Client, device: str, minutes: float, **more: Any) -> dict[str, Any]:
    body = {"at": ago(minutes)} | more
    made: dict[str, Any] = client.good("POST", f"/devices/{segment(device)}/reports", body)
    return made


def item(made: dict[str, Any]) -> str:
    return f"/devices/{segment(made['device'])}/reports/{made['id']}?at={made['at']}"


def ids(items: list[dict[str, Any]]) -> list[str]:
    return [each["id"] for each in items]


def test_reports_of_a_device_come_in_order_of_time(acme: Client, globex: Client) -> None:
    minutes = [*range(40), 0.5, 20.25]
    random.Random(3).shuffle(minutes)
    made = [report(acme, "d#1", each) for each in minutes]
    report(acme, "d#", 3)
    report(globex, "d#1", 3)
    expected = ids(sorted(made, key=lambda each: each["at"]))
    for limit in (1, 7, 100):
        assert ids(acme.everything("/devices/d%231/reports", limit)) == expected
    for window in (1, 10, 21, 1_000):
        since = ago(window + 0.05)  # now is a whole second
        late = [each["id"] for each in made if each["at"] > since]
        found = acme.everything(f"/devices/d%231/reports?minutes={window}", limit=4)
        # Now is a little later than then.
        assert set(late) - set(ids(found)) <= {e["id"] for e in made if e["at"] <= ago(window - 1)}
        assert ids(found) == [id for id in expected if id in set(ids(found))]
        assert all(each["at"] >= since for each in found)


def test_a_report_is_found_by_its_device_time_and_id(acme: Client) -> None:
    answer = acme("POST", "/devices/d2/reports", {"status": "ok"})
    assert answer.status == 201
    assert acme.good("GET", answer.headers["Location"]) == answer.json
    missing = acme("GET", f"/devices/d2/reports/{answer.json['id']}")
    assert (missing.status, "at" in missing.text) == (400, True)
    other = acme("GET", f"/devices/d2/reports/{answer.json['id']}?at={ago(99)}")
    assert other.status == 404
    view = acme.good("GET", f"{answer.headers['Location']}&fields=status")
    assert view == {"status": "ok"}


def test_what_is_escalated_is_listed_until_it_is_resolved(served: Served, acme: Client) -> None:
    url = "/escalations/sa%23ra"
    for minutes in range(30):
        report(acme, f"fine-{minutes % 3}", minutes)
    made = [report(acme, f"e{n % 4}", n, escalated_to="sa#ra", status="failure") for n in range(9)]
    report(acme, "e1", 1, escalated_to="sa#")
    served.catch_up()
    assert ids(acme.everything(url, limit=2)) == ids(made)
    resolved, handed, gone = made[2], made[4], made[6]
    acme.good("PATCH", item(resolved), {"resolved": True})
    acme.good("PATCH", item(handed), {"escalated_to": "bob"})
    assert acme("DELETE", item(gone)).status == 204
    left = [each["id"] for each in made if each not in (resolved, handed, gone)]
    assert ids(acme.everything(url)) == left  # the list lags, a page does not lie
    served.catch_up()
    assert ids(acme.everything(url)) == left
    assert ids(acme.everything("/escalations/bob")) == [handed["id"]]
    rows = served.dynamodb.query(
        TableName=served.table.name,
        IndexName="GSI2",
        KeyConditionExpression="GSI2PK = :list",
        ExpressionAttributeValues={":list": {"S": "acme#Report.escalated#1#sa$23ra"}},
    )
    assert rows["Count"] == len(left)
    acme.good("PATCH", item(resolved), {"resolved": False})
    served.catch_up()
    assert resolved["id"] in ids(acme.everything(url))
    acme.good("PATCH", item(resolved), {"escalated_to": None})
    assert resolved["id"] not in ids(acme.everything(url))


def test_the_last_minutes_of_a_technician(served: Served, acme: Client) -> None:
    made = [report(acme, "w", n + 0.5, escalated_to="tom") for n in range(0, 60, 2)]
    future = report(acme, "w", -30, escalated_to="tom")
    served.catch_up()
    for window in (10, 32, 58):
        for limit in (1, 4, 100):
            found = acme.everything(f"/escalations/tom?minutes={window}", limit)
            expected = [each for each in made if each["at"] >= ago(window - 0.1)]
            assert ids(found) == ids([future, *expected])
    assert len(acme.everything("/escalations/tom?minutes=5256000")) == 31
    assert acme.everything("/escalations/nobody?minutes=5") == []
    page = acme.good("GET", "/escalations/tom?minutes=10&limit=1")
    for other in ("", "?minutes=11"):
        sign = "&" if other else "?"
        answer = acme("GET", f"/escalations/tom{other}{sign}cursor={page['cursor']}")
        assert answer.status == 400


@pytest.mark.parametrize("minutes", ["0", "-1", "x", "", "1.5", "5270401", "1e9", "９"])
def test_windows_that_are_none(acme: Client, minutes: str) -> None:
    for url in ("/escalations/tom", "/devices/d/reports"):
        answer = acme("GET", f"{url}?minutes={segment(minutes)}")
        assert (answer.status, answer.fields) == (422, {"minutes"})


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"at": "yesterday"}, "at"),
        ({"at": "2026-11-20"}, "at"),
        ({"at": "2026-11-20T00:00:00"}, "at"),
        ({"at": 1_700_000_000}, "at"),
        ({"status": "lost"}, "status"),
        ({"message": "m" * 2_001}, "message"),
        ({"escalated_to": ""}, "escalated_to"),
        ({"escalated_to": "t" * 201}, "escalated_to"),
        ({"resolved": "no"}, "resolved"),
        ({"device": "other"}, "device"),
        ({"id": "mine"}, "id"),
        ({"EscalatedTo": "x"}, "EscalatedTo"),
    ],
)
def test_reports_that_are_refused(acme: Client, wrong: object, field: str) -> None:
    answer = acme("POST", "/devices/d/reports", wrong)
    assert (answer.status, answer.fields) == (422, {field})


def test_the_time_of_a_report_cannot_be_changed(acme: Client) -> None:
    made = report(acme, "d3", 1)
    assert acme("PATCH", item(made), {"at": ago(2)}).status == 422
    assert acme("PATCH", item(made), {"message": "m"}, if_match='"2"').status == 412
    long = acme("POST", f"/devices/{'d' * 201}/reports", {})
    assert (long.status, long.fields) == (422, {"device"})


def test_a_repeated_report_is_one(acme: Client) -> None:
    body = {"at": ago(5), "message": "m"}
    first, again = (
        acme("POST", "/devices/d4/reports", body, idempotency_key="report-1") for _ in range(2)
    )
    assert first.json == again.json
    assert len(acme.everything("/devices/d4/reports")) == 1
