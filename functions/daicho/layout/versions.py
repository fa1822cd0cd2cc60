"""Versions: their keys and their contents. Pure.

Each version of an item is an item of its own, in a partition that no other item has: the tenant,
``@`` and the entity, the base item's partition and its sort key. Its sort key is the number, at
fixed width. A written version never changes. A version item has no ``type``, so no event filter
passes it and nothing is derived from it.

By *copy* the base item also holds the whole newest version, so one read suffices. By *pointer* it
holds its key and the number, and the newest version is the last item of that partition. This takes
one read too: a query that reads one item backward.

Numbers are never given twice. A deletion takes a number as well, for the mark that it leaves in
the partition. So the versions of an item that is created later with the same key get the numbers
after the mark. A version that is forgotten keeps its number for an hour, for writers that have read
the version before it.

Source: "Using sort keys for version control", Amazon DynamoDB Developer Guide.
"""

from __future__ import annotations

import datetime as dt

from daicho.layout import item_keys
from daicho.layout.base_item import DAMAGE, get_version
from daicho.plan import EntityPlan
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes, keys
from daicho.storage.attributes import AttributeValue, Image, ItemKey
from daicho.storage.requests import to_key_image

Values = dict[str, AttributeValue]

KEPT_UP_TO = "_history"
"""On base items that are copies: the number of the newest version that has an item. It differs from
the item's own number if code wrote the item that kept no versions yet."""

POINTED = "_bytes"
"""On base items that are pointers: the size of the content that they point at."""

DELETED = "_deleted"
"""On the mark that a deletion leaves, and on forgotten versions."""

FORGOTTEN_SECONDS = 3_600
"""The time for which a forgotten version keeps its number: no request lives that long."""

_OF_BASE_ONLY = ("PK", "SK", "GSI1PK", "GSI1SK", "type", "ttl", KEPT_UP_TO)


@dataclass(frozen=True)
class VersionState:
    """The state of an item before its next version is written.

    Args:
        item: the newest version, whole; None if there is none, or it was deleted.
        last: the highest number that was given.
        unkept: the item has no version item yet, so the next write makes one for it too.
    """

    item: Image | None = None
    last: int = 0
    unkept: bool = False


def render_history_partition(base: ItemKey, entity: str) -> str:
    """The partition of an item's versions.

    Raises:
        keys.KeyTooLongError: over 2,048 bytes.
    """
    return keys.check_partition(item_keys.render_owned_partition(base, f"@{entity}"))


def render_version_number(number: int) -> str:
    """The sort key of a version: 19 digits, so that 10 comes behind 9."""
    return keys.render_scalar(number)


def get_number(version: Image) -> int:
    """The number of a version item, by its key."""
    return int(version["SK"]["S"])


def build_version_key(base: ItemKey, entity: str, number: int) -> ItemKey:
    """The key of a version item."""
    return ItemKey(render_history_partition(base, entity), render_version_number(number))


def read_state(item: Image | None, newest: Image | None, *, by_pointer: bool) -> VersionState:
    """The state of an item, from the base item (by copy) and the newest version item.

    ``newest`` is only needed if the base item is not sufficient: by pointer, if there is no base
    item, and if the base item has no version item.
    """
    highest = 0 if newest is None else get_version(newest)
    if by_pointer:
        return VersionState(None if newest is None or is_marker(newest) else newest, highest)
    if item is None:
        return VersionState(None, highest)
    if is_kept(item):
        return VersionState(item, max(get_version(item), highest))
    # Its number may have been given before: old code counts from 1 again after a deletion.
    number = get_version(item)
    return VersionState(item, number if number > highest else highest + 1, unkept=True)


def is_kept(base: Image) -> bool:
    """Whether a base item that is a copy has a version item."""
    return attributes.get_integer(base, KEPT_UP_TO) == get_version(base)


def is_marker(version: Image) -> bool:
    """Whether a version item is only a number: of a deletion, or of a forgotten version."""
    return DELETED in version


def is_forgotten(version: Image) -> bool:
    """Whether a version item stays only until its number cannot be given again."""
    return "ttl" in version


def build_forgotten_marker(version: Image, now: int) -> Values:
    """The rest of a version that is forgotten: its number, until DynamoDB removes it.

    ``now`` is in epoch seconds.
    """
    kept = {name: version[name] for name in ("PK", "SK", "version")}
    ttl: AttributeValue = {"N": str(now + FORGOTTEN_SECONDS)}
    return {**kept, DELETED: {"BOOL": True}, "ttl": ttl}


def build_missing_version(image: Image, partition: str, first: int, last: int) -> Values:
    """What a page shows in place of the versions from ``first`` to ``last``, which are missing.

    ``image``: the base item, or another version of it. ``partition``: of its versions.
    """
    numbers = f"version {last} is" if first == last else f"versions {first} to {last} are"
    key = to_key_image(ItemKey(partition, render_version_number(last)))
    return {**image, **key, DAMAGE: {"S": f"{numbers} missing"}}


def find_gap(older: Image, newer: Image) -> tuple[int, int] | None:
    """The first and the last number that are missing between two versions; None if none are.

    Versions are forgotten from the oldest on, so there is no gap above one that is kept. Code that
    keeps no versions leaves one: the next version item lacks the time at which it was written.
    """
    first, last = get_number(older) + 1, get_number(newer) - 1
    is_damage = first <= last and not is_forgotten(older) and "versioned_at" in newer
    return (first, last) if is_damage else None


def split_versioned_image(image: Image, number: int, at: dt.datetime) -> Values:
    """A whole image as the version of that number, written ``at`` that time."""
    numbered = {"version": {"N": str(number)}, "versioned_at": {"S": keys.render_instant(at)}}
    return {**image, **numbered}


def build_version_item(image: Image, entity: str) -> Values:
    """The version item of a whole image."""
    key = build_version_key(attributes.get_key(image), entity, get_version(image))
    kept = {name: value for name, value in image.items() if name not in _OF_BASE_ONLY}
    return {**to_key_image(key), **kept}


def restore_base_item(plan: EntityPlan, image: Image) -> Values:
    """The base item of a whole image: all of it, or the pointer to its version item."""
    if plan.versions == "copy":
        return {**image, KEPT_UP_TO: image["version"]}
    held = {*_OF_BASE_ONLY, *plan.key.fields, "version", "gen", "created_at"}
    pointer = {name: value for name, value in image.items() if name in held}
    return {**pointer, POINTED: {"N": str(attributes.measure_image(image))}}


def get_kept_bytes(image: Image) -> int:
    """The size of an item in an answer. The size of a pointer includes its content."""
    return attributes.measure_image(image) + (attributes.get_integer(image, POINTED) or 0)


def build_deletion_marker(
    plan: EntityPlan, base: ItemKey, before: VersionState, at: dt.datetime
) -> Values:
    """The mark that a deletion writes behind the versions: a number without content."""
    assert before.item is not None  # noqa: S101  # a deletion has read the item
    number = before.last + 1
    key = build_version_key(base, plan.name, number)
    kept = (*plan.key.fields, "gen", "created_at")
    image = {name: before.item[name] for name in kept if name in before.item}
    image |= {**to_key_image(key), DELETED: {"BOOL": True}}
    return split_versioned_image(image, number, at)


def build_backfill_version_item(before: VersionState, base: ItemKey, entity: str) -> Values | None:
    """The version item of an unchanged item that has none yet. None if it has one."""
    if before.item is None or not before.unkept:
        return None
    older = {**before.item, "version": {"N": str(before.last)}}
    older.pop("versioned_at", None)  # it belongs to another version, if it exists
    return build_version_item({**older, **to_key_image(base)}, entity)
