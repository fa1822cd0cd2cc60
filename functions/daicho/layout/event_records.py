"""Where the records of events that subscribers have handled are, and how long they are kept."""

from __future__ import annotations

from daicho.storage import keys
from daicho.storage.attributes import EMPTY_SORT_KEY, ItemKey

OWNER = "~event"
"""Behind the tenant in the partition keys of records."""
KEPT_SECONDS = 15 * 24 * 60 * 60
"""A day more than a queue keeps an event."""


def build_event_key(tenant: str, subscriber: str, id: str) -> ItemKey:
    """The key of the record of an event: one item collection for each, so that none is hot."""
    return ItemKey(keys.render(tenant, OWNER, subscriber, id), EMPTY_SORT_KEY)
