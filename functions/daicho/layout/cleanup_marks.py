"""Marks of possible leftovers: written before the leftovers, removed after them.

Some work takes several writes and does not fit a transaction: the sections of a document are
written before they are visible, and removed when they are not visible any more; an object in S3 is
removed after its item. If a process ends in between, data stays that nobody looks for. So the
item has a mark for as long as that is possible, and a scheduled sweep processes the marks
that are due.
"""

from __future__ import annotations

import datetime as dt

from daicho.storage import keys
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.requests import to_key_image

LIST = keys.render("", "leftover")
"""The partition of GSI2 that lists all marks, in order of their due times."""
IN_FLIGHT_GRACE = dt.timedelta(minutes=15)
"""The longest time of a request, with a large margin: the API answers within 30 seconds."""


def render_owner_partition(base: ItemKey, entity: str) -> str:
    """The partition of an item's additional data. It holds the item's whole key.

    Raises:
        KeyTooLongError: over DynamoDB's limit.
    """
    tenant, *rest = base.pk.split(keys.DELIMITER, 2)
    behind = rest[1] if len(rest) > 1 else ""
    return keys.check_partition(keys.render(keys.unescape(tenant), f"/{entity}", behind, base.sk))


def parse_owner_partition(partition: str) -> ItemKey:
    """The key of the item that a partition belongs to."""
    tenant, entity, behind, sk = keys.parse(partition)
    head = keys.render(tenant, entity.removeprefix("/"))
    return ItemKey(f"{head}{keys.DELIMITER}{behind}" if behind else head, sk)


def build_mark_key(partition: str, name: str) -> ItemKey:
    """The key of a mark. It sorts before everything else in its partition."""
    return ItemKey(partition, keys.render("", name))


def build_mark(partition: str, name: str, due: dt.datetime, *, object: str | None = None) -> Image:
    """A mark of an item. The sweep processes it when it is due, and not before.

    ``object``: the name of an S3 object that may be left over. Without it the mark is of sections.
    """
    more: Image = {} if object is None else {"object": {"S": object}}
    return {
        **more,
        **to_key_image(build_mark_key(partition, name)),
        "GSI2PK": {"S": LIST},
        "GSI2SK": {"S": keys.render_instant(due)},
    }
