"""What is to become of each item of a tenant that is deleted: pure.

What an API wrote goes. What the stream path writes becomes a *tombstone* instead, with a fence that
no record is behind: a record of the tenant that is delivered late, twice, or not yet, finds it and
does nothing. Were it gone, a late repeat would count, or stand, anew (EXACTNESS rules 6, 9). It
expires after 72 hours, when no record can come any more.
"""

from __future__ import annotations

import datetime as dt
from enum import Enum

from daicho.layout.tombstone import TOMBSTONE
from daicho.storage import attributes, keys
from daicho.storage.attributes import AttributeValue, Image
from daicho.storage.item_key import key_of
from daicho.storage.requests import Put, key_image
from daicho.tally import counter_items

FENCED = "~"
"""Behind every number of every stream, as they are compared."""

_OF_TOMBSTONES = frozenset({"PK", "SK", "seq", "rev", "ttl"})


class Fate(Enum):
    """What is to become of an item."""

    STAYS = "a tombstone already"
    GOES = "is removed"
    FENCED = "becomes a tombstone"


def fate_of(item: Image) -> Fate:
    """What is to become of an item."""
    if "ttl" in item and item.keys() <= _OF_TOMBSTONES:
        return Fate.STAYS
    sign = _sign(item)
    tally = sign == "+" or (sign == counter_items.MARK and item["SK"]["S"] == counter_items.HEAD)
    # Not all that stands beside the entities is the projector's: that alone has a number.
    derived = sign == "~" and "seq" in item and "type" not in item
    return Fate.FENCED if tally or derived else Fate.GOES


def tombstone(item: Image, now: dt.datetime) -> Put:
    """The write that makes an item a tombstone, if it is as it was read.

    A tally keeps a revision, and one more: no rollup that read it before writes over it.
    """
    made = {
        **key_image(key_of(item)),
        "seq": {"S": FENCED},
        "ttl": attributes.to_value(int((now + TOMBSTONE).timestamp())),
    }
    fence = "seq" if _sign(item) == "~" else "rev"
    if fence == "rev":
        made["rev"] = attributes.to_value((attributes.integer(item, "rev") or 0) + 1)
    read: dict[str, AttributeValue] = {":read": item[fence]} if fence in item else {}
    as_read = f"{fence} = :read" if read else f"attribute_not_exists({fence})"
    return Put(made, as_read, values=read)


def _sign(item: Image) -> str:
    """How the second part of its partition key begins: of base items, with a letter."""
    parts = keys.parse(item["PK"]["S"])
    return parts[1][:1] if len(parts) > 1 else ""
