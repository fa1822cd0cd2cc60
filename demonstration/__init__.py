"""The demonstration: the systems of the source documents, with data for the local stack."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from daicho.declare.registry import Daicho

SYSTEMS = (
    *("articles", "carts", "contacts", "devices", "documents", "downloads", "manuals", "messages"),
    *("music", "orders", "photos", "places", "polls", "sales", "users", "votes"),
)
"""The domain files of the demonstration, without their suffix."""


def discover_demonstration() -> Daicho:
    """The domains of the demonstration, without those that somebody has added beside them.

    Raises:
        DeclarationError: a file of the package ``domains`` holds no domain.
    """
    from daicho.declare.registry import Daicho  # noqa: PLC0415  # it loads Pydantic

    every_domain = Daicho.discover(import_module("domains")).domains
    return Daicho(*(domain for domain in every_domain if domain.name in SYSTEMS))
