"""Tickets over the deployed functions and a real table: copy me to tests/integration/api."""

from __future__ import annotations

from tests.support.api_client import Client
from tests.support.deployment import Served

TICKET = {"title": "Printer on fire", "team": "ops", "opened": "2026-11-21", "minutes": 30}


def test_a_ticket_is_found_queued_and_counted(served: Served, acme: Client) -> None:
    ticket = acme.good("POST", "/tickets", TICKET)
    served.catch_up()  # the stream is read, and totals are rolled up

    assert acme.everything("/tickets?title=prin") == [ticket]
    assert acme.everything("/tickets?team=ops&queue=true") == [ticket]
    (effort,) = acme.everything("/effort/2026-11")
    assert (effort["team"], effort["total"]) == ("ops", 30)

    acme.good("PATCH", f"/tickets/{ticket['id']}", {"state": "done"})
    served.catch_up()
    assert acme.everything("/tickets?team=ops&queue=true") == []


def test_another_tenant_sees_no_tickets(acme: Client, globex: Client) -> None:
    ticket = acme.good("POST", "/tickets", TICKET)
    assert globex("GET", f"/tickets/{ticket['id']}").status == 404


def test_a_negative_effort_is_refused(acme: Client) -> None:
    answer = acme("POST", "/tickets", TICKET | {"minutes": -1})
    assert (answer.status, answer.fields) == (422, {"minutes"})
