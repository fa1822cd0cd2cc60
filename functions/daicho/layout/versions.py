"""Versions: where they stand and what they hold. Pure.

Each version of an item is an item of its own, in a partition that no other item has: the tenant,
``@`` and the entity, the base item's partition and its sort key; its sort key is the number, at
fixed width. What is written there once is never changed. A version item has no ``type``, so no
event filter passes it and nothing is derived from it.

By *copy* the base item holds everything too: the newest version, in one read. By *pointer* it
holds its key and the number, and the newest version is the last item of that partition: one read
too, by a query that reads one item backward.

Numbers are never given twice. A deletion takes one as well, for the mark that it leaves in the
partition: so what is created in the same place later goes on counting behind it. And a version
that is forgotten keeps its number for an hour, for who has read what stood before it and writes.

Source: seed 002 (version control by sort key prefixes).
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from daicho.layout import item_keys
from daicho.layout.base_item import version_of
from daicho.plan import EntityPlan, key_fields
from daicho.storage import attributes, item_key, keys
from daicho.storage.attributes import AttributeValue, Image
from daicho.storage.item_key import ItemKey

Values = dict[str, AttributeValue]

KEPT_UP_TO = "_history"
"""On base items that are copies: the number of the newest version that has an item. It is not the
item's own where code wrote it that kept no versions yet."""

POINTED = "_bytes"
"""On base items that are pointers: how large the content is that they point at."""

DELETED = "_deleted"
"""On the mark that a deletion leaves, and on what is forgotten."""

FORGOTTEN_SECONDS = 3_600
"""So long a forgotten version keeps its number: no request lives that long."""

_OF_BASE_ONLY = ("PK", "SK", "GSI1PK", "GSI1SK", "type", "ttl", KEPT_UP_TO)


@dataclass(frozen=True)
class Standing:
    """What stands of an item when its next version is to be written.

    Args:
        item: the newest version, whole; None where nothing is, or it was deleted.
        last: the highest number that was given.
        unkept: the item has no version item yet, so the next write makes one for it too.
    """

    item: Image | None = None
    last: int = 0
    unkept: bool = False


def history(base: ItemKey, entity: str) -> str:
    """The partition of an item's versions.

    Raises:
        keys.KeyTooLongError: over 2,048 bytes.
    """
    return keys.check_partition(item_keys.owned_partition(base, f"@{entity}"))


def number_key(number: int) -> str:
    """The sort key of a version: 19 digits, so that 10 comes behind 9."""
    return keys.text_of(number)


def version_key(base: ItemKey, entity: str, number: int) -> ItemKey:
    """The key of a version item."""
    return ItemKey(history(base, entity), number_key(number))


def standing(item: Image | None, newest: Image | None, *, by_pointer: bool) -> Standing:
    """What stands, seen from the base item (by copy) and the newest version item.

    ``newest`` is only needed where the base item does not say all: by pointer, where there is
    none, and where it has no version item.
    """
    highest = 0 if newest is None else version_of(newest)
    if by_pointer:
        return Standing(None if newest is None or is_mark(newest) else newest, highest)
    if item is None:
        return Standing(None, highest)
    if is_kept(item):
        return Standing(item, max(version_of(item), highest))
    # Its number may have been given before: old code counts from 1 again after a deletion.
    number = version_of(item)
    return Standing(item, number if number > highest else highest + 1, unkept=True)


def is_kept(base: Image) -> bool:
    """Whether a base item that is a copy has a version item."""
    return attributes.integer(base, KEPT_UP_TO) == version_of(base)


def is_mark(version: Image) -> bool:
    """Whether a version item is a number alone: of a deletion, or of what was forgotten."""
    return DELETED in version


def is_forgotten(version: Image) -> bool:
    """Whether a version item stays only until its number cannot be given again."""
    return "ttl" in version


def forgotten(version: Image, now: int) -> Values:
    """What is left of a version that is forgotten: its number, until DynamoDB removes it.

    ``now`` is in epoch seconds.
    """
    kept = {name: version[name] for name in ("PK", "SK", "version")}
    ttl: AttributeValue = {"N": str(now + FORGOTTEN_SECONDS)}
    return {**kept, DELETED: {"BOOL": True}, "ttl": ttl}


def versioned(image: Image, number: int, at: dt.datetime) -> Values:
    """A whole image as the version of that number, written ``at`` that time."""
    numbered = {"version": {"N": str(number)}, "versioned_at": {"S": keys.instant(at)}}
    return {**image, **numbered}


def version_item(image: Image, entity: str) -> Values:
    """The version item of a whole image."""
    key = version_key(item_key.key_of(image), entity, version_of(image))
    kept = {name: value for name, value in image.items() if name not in _OF_BASE_ONLY}
    return {"PK": {"S": key.pk}, "SK": {"S": key.sk}, **kept}


def base_item(plan: EntityPlan, image: Image) -> Values:
    """The base item of a whole image: all of it, or the pointer to its version item."""
    if plan.versions == "copy":
        return {**image, KEPT_UP_TO: image["version"]}
    held = {*_OF_BASE_ONLY, *key_fields(plan), "version", "gen", "created_at"}
    pointer = {name: value for name, value in image.items() if name in held}
    return {**pointer, POINTED: {"N": str(attributes.size_of(image))}}


def bytes_of(image: Image) -> int:
    """How much an item takes in an answer: that of a pointer with what it points at."""
    return attributes.size_of(image) + (attributes.integer(image, POINTED) or 0)


def mark(plan: EntityPlan, base: ItemKey, before: Standing, at: dt.datetime) -> Values:
    """What a deletion leaves behind the versions: a number without content."""
    assert before.item is not None  # noqa: S101  # who deletes has seen it
    number = before.last + 1
    key = version_key(base, plan.name, number)
    kept = (*key_fields(plan), "gen", "created_at")
    image = {name: before.item[name] for name in kept}
    image |= {"PK": {"S": key.pk}, "SK": {"S": key.sk}, DELETED: {"BOOL": True}}
    return versioned(image, number, at)


def unkept_item(before: Standing, base: ItemKey, entity: str) -> Values | None:
    """The version item of an item that has none yet, as it stands; None if it has one."""
    if before.item is None or not before.unkept:
        return None
    older = {**before.item, "version": {"N": str(before.last)}}
    older.pop("versioned_at", None)  # that of another version, if there is one
    return version_item({**older, "PK": {"S": base.pk}, "SK": {"S": base.sk}}, entity)
