"""The routes of the demonstration, and what is particular to some."""

from __future__ import annotations

from dataclasses import replace

from tests.support.project_routes import PROJECT_ROUTES

DEMONSTRATION_ROUTES = replace(
    PROJECT_ROUTES,
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
