"""What a base item contributes to tallies, and amounts that are added up exactly."""

from __future__ import annotations

from decimal import Decimal

from daicho.derive import contributions
from daicho.derive.contributions import Amount
from tests.support.item_images import HIGHEST
from tests.support.sample_tickets import TICKET, build_ticket_image


def test_contributions() -> None:
    found = contributions.compute_contributions(
        TICKET, build_ticket_image(queue="q", effort=5, at="2026-11-30T23:59:59.0Z")
    )
    assert found == {
        "acme#+Ticket.count#1": Amount(1, Decimal(1)),
        "acme#+Ticket.effort#3#2026-11#q": Amount(1, Decimal(5)),
    }
    assert contributions.compute_contributions(TICKET, build_ticket_image(queue="q")) == {
        "acme#+Ticket.count#1": Amount(1, Decimal(1))
    }


def test_amounts_of_any_size_add_up_exactly() -> None:
    total = sum((Amount(1, Decimal(HIGHEST) + Decimal("1e-9")) for _ in range(1000)), Amount())
    assert total.total == 1000 * (Decimal(HIGHEST).scaleb(9) + 1).scaleb(-9)
