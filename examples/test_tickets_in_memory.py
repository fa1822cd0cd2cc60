"""Tickets in memory: without a server, without a table, in milliseconds."""

from __future__ import annotations

import datetime as dt

from daicho.testing import FaultChecker, MemoryDeployment
from domains.tickets import Ticket

OPENED = dt.date(2026, 11, 21)


def test_a_ticket_is_found_queued_and_counted(daicho_deployment: MemoryDeployment) -> None:
    book = daicho_deployment.open_book()
    ticket = book.create(Ticket(title="Printer on fire", team="ops", opened=OPENED, minutes=30))
    daicho_deployment.catch_up()  # the stream is read, and totals are rolled up

    assert book.page(Ticket.search("prin")).items == [ticket]
    assert book.page(Ticket.queue("ops")).items == [ticket]
    (effort,) = book.top(Ticket.effort.top("2026-11")).items
    assert (effort.by, effort.total) == (("ops",), 30)

    book.change(Ticket.key(ticket.id), {"state": "done"})
    daicho_deployment.deliver()
    assert book.page(Ticket.queue("ops")).items == []


def test_another_tenant_sees_no_tickets(daicho_deployment: MemoryDeployment) -> None:
    acme, globex = daicho_deployment.open_book("acme"), daicho_deployment.open_book("globex")
    acme.create(Ticket(title="Printer on fire", team="ops", opened=OPENED))
    daicho_deployment.catch_up()
    assert globex.page(Ticket.queue("ops")).items == []


def test_everything_is_exact_under_faults(daicho_faults: FaultChecker) -> None:
    daicho_faults.check(schedules=200)
