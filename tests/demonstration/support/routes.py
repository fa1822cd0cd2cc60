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
            "post_carts_by_user_checkout",
            "post_contacts_by_contact_calls",
            "post_sales",
            "put_contacts_by_id_categories_by_category",
            "put_polls_by_poll_votes_by_voter",
        }
    ),
    first_words=("carts", "contacts", "documents", "manuals", "polls"),
)
