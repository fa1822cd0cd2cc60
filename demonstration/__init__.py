"""The demonstration: sixteen systems over one table, with data for the local stack."""

from __future__ import annotations

SYSTEMS = (
    *("articles", "carts", "contacts", "devices", "documents", "downloads", "manuals", "messages"),
    *("music", "orders", "photos", "places", "polls", "sales", "users", "votes"),
)
"""The domain files of the demonstration, without their suffix."""
