"""Items that expire: a count that falls by them, and their archive."""

from __future__ import annotations

from datetime import timedelta

from daicho import Aggregate, Count, Domain, Entity, Expires, Key, Search, field, uid


class Message(Entity):
    """It expires after seven days."""

    id: str = uid()
    text: str = field(min_length=1, max_length=10_000)
    subject: str = field(default="", max_length=200)

    key = Key(id)
    search = Search(subject)
    count = Aggregate(Count(), on_expiry="subtract")
    expires = Expires(timedelta(days=7), archive=True)


domain = Domain("messages", Message, examples={"subject": "Rehearsal", "text": "At seven"})
domain.resource("/messages/{id}", Message, "POST GET DELETE")
