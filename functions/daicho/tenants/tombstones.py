"""The deletion action for each item of a deleted tenant. Pure.

Items that an API wrote are removed. Items that the stream path writes become *tombstones* instead,
with a fence above the number of every record. A record of the tenant that is delivered late, twice
or not yet meets the tombstone and does nothing. Without the tombstone a late repeat would be
counted or written again (EXACTNESS rules 6, 9). It expires after 72 hours, when no record can
arrive any more.
"""

from __future__ import annotations

import datetime as dt
from enum import Enum

from daicho.layout.retention import FENCED, TOMBSTONE_RETENTION
from daicho.storage import attributes, keys
from daicho.storage.attributes import AttributeValue, Image, get_key
from daicho.storage.requests import Put, to_key_image
from daicho.tally import counter_items

_OF_TOMBSTONES = frozenset({"PK", "SK", "seq", "rev", "ttl"})


class DeletionAction(Enum):
    """The action for an item of a deleted tenant."""

    STAYS = "a tombstone already"
    GOES = "is removed"
    FENCED = "becomes a tombstone"


def choose_action(item: Image) -> DeletionAction:
    """Choose the action for an item."""
    if "ttl" in item and item.keys() <= _OF_TOMBSTONES:
        return DeletionAction.STAYS
    sign = _is_tombstone_attribute(item)
    tally = sign == "+" or (
        sign == counter_items.CLEANED_MARK and item["SK"]["S"] == counter_items.HEAD_SORT_KEY
    )
    # Only the items that the projector writes beside the entities have a number.
    derived = sign == "~" and "seq" in item and "type" not in item
    return DeletionAction.FENCED if tally or derived else DeletionAction.GOES


def build_tombstone(item: Image, now: dt.datetime) -> Put:
    """The write that turns an item into a tombstone, if it is unchanged since it was read.

    A tally keeps its revision, raised by one, so a rollup that read it before cannot overwrite it.
    """
    tombstone = {
        **to_key_image(get_key(item)),
        "seq": {"S": FENCED},
        "ttl": attributes.to_value(int((now + TOMBSTONE_RETENTION).timestamp())),
    }
    fence = "seq" if _is_tombstone_attribute(item) == "~" else "rev"
    if fence == "rev":
        tombstone["rev"] = attributes.to_value((attributes.get_integer(item, "rev") or 0) + 1)
    values: dict[str, AttributeValue] = {":read": item[fence]} if fence in item else {}
    condition = f"{fence} = :read" if values else f"attribute_not_exists({fence})"
    return Put(tombstone, condition, values=values)


def _is_tombstone_attribute(item: Image) -> str:
    """The first character of the second key part. It is a letter for base items."""
    parts = keys.parse(item["PK"]["S"])
    return parts[1][:1] if len(parts) > 1 else ""
