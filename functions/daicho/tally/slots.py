"""The items of a tally: its total, its slots, and their places in the indexes. Pure.

All items of a tally share its partition key. A slot is what one stream shard has counted:
``slot#<shard>`` of what lives, ``kept#<shard>`` of what expired under ``on_expiry="keep"``. Every
write to a slot raises its ``rev``, so that "the slot is as read" is one comparison.

A slot is *dirty* (it carries GSI2 keys) while the total does not yet hold all of it. The mark is
set only where there is none, so most writes of a busy slot write no index.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field

from daicho import images, keys
from daicho.derive import Amount, ItemKey
from daicho.images import AttributeValue, Image

TOTAL = "total"
SLOT = "slot"
KEPT = "kept"
NAMES: Mapping[str, str] = {"#items": "items", "#total": "total"}
FENCE = "attribute_not_exists(seq) OR seq < "
"""The one rule of the stream path: never go backwards. The value's placeholder follows."""


@dataclass(frozen=True)
class Change:
    """An update of one item, as `Table.update` takes it."""

    key: ItemKey
    update: str
    condition: str
    values: Mapping[str, AttributeValue]
    names: Mapping[str, str] = field(default_factory=lambda: NAMES)


@dataclass(frozen=True)
class TallyName:
    """What a tally's partition key says."""

    tenant: str
    entity: str
    aggregate: str
    since: int
    parts: tuple[str, ...]

    @classmethod
    def parse(cls, partition: str) -> TallyName:
        """Read a tally's partition key.

        Raises:
            ValueError: it is none.
        """
        tenant, name, since, *parts = keys.parse(partition)
        entity, dot, aggregate = name.removeprefix("+").partition(".")
        if not name.startswith("+") or not dot:
            raise ValueError(f"no tally: {partition}")
        return cls(tenant, entity, aggregate, int(since), tuple(parts))


def slot_key(tally: str, shard: str) -> ItemKey:
    """The slot of a stream shard."""
    return ItemKey(tally, keys.render(SLOT, shard))


def kept_key(tally: str, shard: str) -> ItemKey:
    """The slot of what expired and is still counted."""
    return ItemKey(tally, keys.render(KEPT, shard))


def total_key(tally: str) -> ItemKey:
    """The rolled-up total."""
    return ItemKey(tally, TOTAL)


def is_slot(sk: str) -> bool:
    """Whether the item under this sort key is summed."""
    return sk.startswith((keys.prefix(SLOT), keys.prefix(KEPT)))


def amount_of(image: Image | None) -> Amount:
    """The amount that a slot or a total holds."""
    if image is None or "items" not in image:
        return Amount()
    return Amount(int(image["items"]["N"]), images.number(image["total"]["N"]))


def revision_of(image: Image | None) -> int:
    """How often the item was written; 0 if it never was."""
    return (images.integer(image, "rev") or 0) if image is not None else 0


def dirty_partition(number: int) -> str:
    """The GSI2 partition that holds a share of the dirty marks."""
    return keys.render("", "dirty", str(number))


def dirty_place(tally: str, shards: int) -> str:
    """Where a tally's marks stand: all of them together, so that one reader rolls it up."""
    return dirty_partition(keys.shard_of(shards, tally))


def adding(
    key: ItemKey, amount: Amount, first: str, last: str, *, dirty_shards: int, now: dt.datetime
) -> Change:
    """Count ``amount``, the records from ``first`` to ``last``, in a slot (rule 9).

    The fence compares with ``first`` while ``last`` is what gets stored: were it compared with
    ``last``, a slot that stands between the two would count what it has counted. A repeat of the
    same write after a lost response is refused, because the slot then stands at ``last``.
    """
    return Change(
        key,
        "SET seq = :last, GSI2PK = if_not_exists(GSI2PK, :dirty),"
        " GSI2SK = if_not_exists(GSI2SK, :now) ADD #items :items, #total :total, rev :one",
        f"{FENCE}:first",
        {
            ":first": {"S": first},
            ":last": {"S": last},
            ":dirty": {"S": dirty_place(key.pk, dirty_shards)},
            ":now": {"S": keys.instant(now)},
            ":items": images.to_value(amount.items),
            ":total": images.to_value(amount.total),
            ":one": {"N": "1"},
        },
    )


def totalling(tally: str, amount: Amount, revision: int, place: ItemKey | None) -> Change:
    """Write a total over the one of ``revision``, and its place in the ranking (rule 12).

    ``place`` is None where the aggregate has no ranking or nothing is left to rank: then the
    total leaves the index, so that a chart lists only members that exist.
    """
    values = {
        ":items": images.to_value(amount.items),
        ":total": images.to_value(amount.total),
        ":new": images.to_value(revision + 1),
    }
    setting, removing = "SET #items = :items, #total = :total, rev = :new", ""
    if place is None:
        removing = " REMOVE GSI3PK, GSI3SK"
    else:
        setting += ", GSI3PK = :gsi3pk, GSI3SK = :gsi3sk"
        values |= {":gsi3pk": {"S": place.pk}, ":gsi3sk": {"S": place.sk}}
    if revision:
        values[":rev"] = images.to_value(revision)
    unchanged = "rev = :rev" if revision else "attribute_not_exists(rev)"
    return Change(total_key(tally), setting + removing, unchanged, values)


def cleaning(key: ItemKey, revision: int) -> Change:
    """Take a slot's dirty mark away if nothing was counted since it was read (rule 12).

    By revision and never by time: clocks of two functions tell nothing about who read what.
    """
    values = {":rev": images.to_value(revision), ":one": {"N": "1"}}
    return Change(key, "REMOVE GSI2PK, GSI2SK ADD rev :one", "rev = :rev", values, {})
