"""Marks of what may be left over: written before it, removed when it is gone.

Some work takes several writes and does not fit a transaction: the sections of a document are
written before they are seen, and removed when they are not seen any more; an object in S3 goes
after its item. If a process ends in between, something stays that nobody looks for. So a mark
stands beside the item while that may be, and a scheduled sweep looks after the ones that are due.
"""

from __future__ import annotations

import datetime as dt

from daicho.storage import keys
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey

LIST = keys.render("", "leftover")
"""The partition of GSI2 that all marks stand in, by when they are due."""
IN_FLIGHT_GRACE = dt.timedelta(minutes=15)
"""How long a request may be at work at most, by far: the API answers within 30 seconds."""


def render_owner_partition(base: ItemKey, entity: str) -> str:
    """The partition of what stands beside an item; it holds the item's whole key.

    Raises:
        KeyTooLongError: over DynamoDB's limit.
    """
    tenant, *rest = base.pk.split(keys.DELIMITER, 2)
    behind = rest[1] if len(rest) > 1 else ""
    return keys.check_partition(keys.render(keys.unescape(tenant), f"/{entity}", behind, base.sk))


def parse_owner_partition(partition: str) -> ItemKey:
    """The key of the item that a partition stands beside."""
    tenant, entity, behind, sk = keys.parse(partition)
    head = keys.render(tenant, entity.removeprefix("/"))
    return ItemKey(f"{head}{keys.DELIMITER}{behind}" if behind else head, sk)


def build_mark_key(partition: str, name: str) -> ItemKey:
    """Where a mark stands: before all else of its partition."""
    return ItemKey(partition, keys.render("", name))


def build_mark(partition: str, name: str, due: dt.datetime, *, object: str | None = None) -> Image:
    """A mark beside an item: look after it when it is due, and not before.

    ``object``: the name of one in S3 that may be left over; else it is sections that may.
    """
    key = build_mark_key(partition, name)
    more: Image = {} if object is None else {"object": {"S": object}}
    return {
        **more,
        "PK": {"S": key.pk},
        "SK": {"S": key.sk},
        "GSI2PK": {"S": LIST},
        "GSI2SK": {"S": keys.render_instant(due)},
    }
