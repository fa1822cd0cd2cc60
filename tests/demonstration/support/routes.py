"""The routes of the demonstration, and of the domains that somebody has added beside it."""

from __future__ import annotations

import domains
from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from tests.support.described_routes import DescribedRoutes

DEMONSTRATION_ROUTES = DescribedRoutes(
    Daicho.discover(domains),
    Ledger.load(),
    needing=frozenset(
        {
            "checkout_cart",
            "create_contact_call",
            "create_sale",
            "add_contact_category",
            "put_poll_vote",
        }
    ),
    first_words=("carts", "contacts", "documents", "manuals", "polls"),
)
