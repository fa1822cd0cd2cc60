"""Devices (seed 003) over HTTP: of many reports, the few that a technician must see to."""

from __future__ import annotations

import datetime as dt
from typing import Any

from tests.demonstration.e2e.delivery import delivered
from tests.e2e.api import client, everything


def test_escalated_reports_are_listed_until_they_are_resolved(stack: dict[str, Any]) -> None:
    now = dt.datetime.now(dt.UTC)
    with client(stack, "acme") as api:

        def report(device: str, minutes: int, **more: Any) -> dict[str, Any]:
            at = (now - dt.timedelta(minutes=minutes)).isoformat()
            answer = api.post(f"/devices/{device}/reports", json={"at": at} | more)
            assert answer.status_code == 201, answer.text
            return dict(answer.json())

        fine = [report("d1", minutes) for minutes in (3, 1, 2, 200)]
        made = [
            report(f"d{n % 2}", n, status="failure", escalated_to="tess") for n in (1, 5, 20, 90)
        ]

        def escalated(**asked: Any) -> list[str]:
            return [each["id"] for each in everything(api, "/escalations/tess", **asked)]

        newest = [each["id"] for each in made]
        delivered(api)
        assert escalated() == newest
        assert escalated(minutes=60, limit=1) == newest[:3]
        there = f"/devices/{made[1]['device']}/reports/{made[1]['id']}"
        asked = {"at": made[1]["at"]}
        api.patch(there, params=asked, json={"resolved": True}).raise_for_status()
        assert escalated() == [newest[0], *newest[2:]]
        assert api.get(there, params=asked | {"fields": "resolved"}).json() == {"resolved": True}
        of_device = [each["at"] for each in everything(api, "/devices/d1/reports", minutes=60)]
        assert of_device == sorted(of_device)
        assert len(of_device) == 3 + sum(each["device"] == "d1" for each in made[:3])
        assert len(everything(api, "/devices/d1/reports")) == len(of_device) + 1
        assert fine[3]["at"] not in of_device
    with client(stack, "globex") as other:
        assert everything(other, "/escalations/tess") == []
