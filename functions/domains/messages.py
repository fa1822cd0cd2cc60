"""Messages that expire (seed 003): gone from reads at once, archived when they are deleted."""

from __future__ import annotations

from datetime import timedelta

from daicho import Domain, Entity, Expires, Key, Listing, field, uid


class Message(Entity):
    """A message of the tenant; it lives for seven days."""

    id: str = uid()
    text: str = field(min_length=1, max_length=10_000)
    sender: str | None = None

    key = Key(id)
    newest = Listing()
    expires = Expires(timedelta(days=7), archive=True)


domain = Domain("messages", Message)
domain.resource("/messages/{id}", Message, "POST GET DELETE")
