"""The systems that come with Daicho. Others, of a project, have neither a row nor a recording."""

from __future__ import annotations

import domains
from daicho.declare.registry import Daicho

SYSTEMS = (
    *("articles", "carts", "contacts", "devices", "documents", "downloads", "manuals", "messages"),
    *("music", "orders", "photos", "places", "polls", "sales", "users", "votes"),
)


def discover_demonstration() -> Daicho:
    """The domains of the demonstration."""
    every_domain = Daicho.discover(domains).domains
    return Daicho(*(domain for domain in every_domain if domain.name in SYSTEMS))
