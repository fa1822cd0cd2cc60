"""What is to become of each item of a tenant that is deleted: pure.

What an API wrote goes. What the stream path writes becomes a *tombstone* instead, with a fence that
no record is behind: a record of the tenant that is delivered late, twice, or not yet, finds it and
does nothing. Were it gone, a late repeat would count, or stand, anew (EXACTNESS rules 6, 9). It
expires after 72 hours, when no record can come any more.
"""

from __future__ import annotations

import datetime as dt
from enum import Enum

from daicho.layout.tombstone import TOMBSTONE_RETENTION
from daicho.storage import attributes, keys
from daicho.storage.attributes import AttributeValue, Image
from daicho.storage.item_key import get_key
from daicho.storage.requests import Put, to_key_image
from daicho.tally import counter_items

FENCED = "~"
"""Behind every number of every stream, as they are compared."""

_OF_TOMBSTONES = frozenset({"PK", "SK", "seq", "rev", "ttl"})


class DeletionAction(Enum):
    """What is to become of an item."""

    STAYS = "a tombstone already"
    GOES = "is removed"
    FENCED = "becomes a tombstone"


def choose_action(item: Image) -> DeletionAction:
    """What is to become of an item."""
    if "ttl" in item and item.keys() <= _OF_TOMBSTONES:
        return DeletionAction.STAYS
    sign = _is_tombstone_attribute(item)
    tally = sign == "+" or (
        sign == counter_items.CLEANED_MARK and item["SK"]["S"] == counter_items.HEAD_SORT_KEY
    )
    # Not all that stands beside the entities is the projector's: that alone has a number.
    derived = sign == "~" and "seq" in item and "type" not in item
    return DeletionAction.FENCED if tally or derived else DeletionAction.GOES


def build_tombstone(item: Image, now: dt.datetime) -> Put:
    """The write that makes an item a tombstone, if it is as it was read.

    A tally keeps a revision, and one more: no rollup that read it before writes over it.
    """
    made = {
        **to_key_image(get_key(item)),
        "seq": {"S": FENCED},
        "ttl": attributes.to_value(int((now + TOMBSTONE_RETENTION).timestamp())),
    }
    fence = "seq" if _is_tombstone_attribute(item) == "~" else "rev"
    if fence == "rev":
        made["rev"] = attributes.to_value((attributes.get_integer(item, "rev") or 0) + 1)
    read: dict[str, AttributeValue] = {":read": item[fence]} if fence in item else {}
    as_read = f"{fence} = :read" if read else f"attribute_not_exists({fence})"
    return Put(made, as_read, values=read)


def _is_tombstone_attribute(item: Image) -> str:
    """How the second part of its partition key begins: of base items, with a letter."""
    parts = keys.parse(item["PK"]["S"])
    return parts[1][:1] if len(parts) > 1 else ""
