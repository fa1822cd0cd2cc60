"""Builds the conditional writes that DynamoDB executes on an item's whole image."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from daicho.layout.base_item import get_tag, to_seconds
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage.attributes import AttributeValue, Image, ItemKey
from daicho.storage.requests import ConditionCheck, Delete, Put, Update, require_same


@dataclass(frozen=True)
class ExpiryRule:
    """The expiry of an item that is replaced.

    ``alive_at``: the write is refused if the item has expired by then, in epoch seconds. ``since``:
    it is refused if the item is of an earlier generation, which had another retention.
    ``is_renewed``: the item gets the expiry of its new image; otherwise it keeps its own.
    ``is_required``: the write is refused if the item has no expiry.
    """

    alive_at: int | None = None
    since: int = 0
    is_renewed: bool = False
    is_required: bool = False


@dataclass
class ConditionalWrite:
    """One conditional write: expressions, with their names and values."""

    update: str = ""
    condition: str | None = None
    names: dict[str, str] = field(default_factory=dict)
    values: dict[str, AttributeValue] = field(default_factory=dict)

    def add_name(self, attribute: str) -> str:
        """A placeholder for an attribute's name, because any name may be a reserved word."""
        placeholders = {name: placeholder for placeholder, name in self.names.items()}
        placeholder = placeholders.get(attribute, f"#n{len(placeholders)}")
        self.names[placeholder] = attribute
        return placeholder

    def add_value(self, value: AttributeValue) -> str:
        """A placeholder for a value."""
        placeholder = f":{len(self.values)}"
        self.values[placeholder] = value
        return placeholder

    def to_put(self, image: Image) -> Put:
        """The request that writes this whole image."""
        return Put(image, self.condition, self.names, self.values)

    def to_update(self, key: ItemKey) -> Update:
        """The request that changes the item at this key."""
        return Update(key, self.update, self.condition, self.names, self.values)

    def to_delete(self, key: ItemKey) -> Delete:
        """The request that removes the item at this key."""
        return Delete(key, self.condition, self.names, self.values)

    def to_check(self, key: ItemKey) -> ConditionCheck:
        """The part of a transaction that only requires something of the item at this key."""
        return ConditionCheck(key, self.condition or "", self.names, self.values)


def build_creation(image: Image, now: dt.datetime, *, replaces_expired: bool) -> Put:
    """Put ``image`` where no item exists or, with ``replaces_expired``, over an expired item.

    The expired item is another one. The SDK repeats a request whose answer was lost, and meanwhile
    the new item may have been changed, and expired.
    """
    write = ConditionalWrite()
    write.condition = f"attribute_not_exists({write.add_name('PK')})"
    if replaces_expired:
        expired = f"{write.add_name('ttl')} <= {write.add_value(_to_number(to_seconds(now)))}"
        created = write.add_value(image["created_at"])
        write.condition += f" OR {expired} AND {write.add_name('created_at')} <> {created}"
    return write.to_put(image)


def build_replacement(
    key: ItemKey,
    image: Image,
    *,
    absent: Iterable[str],
    unchanged: Mapping[str, AttributeValue | tuple[AttributeValue, ...] | None],
    expiry: ExpiryRule,
    if_match: int | None,
    must_exist: bool = False,
) -> Update:
    """Set every field of ``image`` and remove the ``absent`` ones, on an existing or a new item.

    The creation keeps its value, and so does the expiry unless ``expiry`` renews it. An image
    without an expiry removes it. ``unchanged`` holds the frozen fields of the checked image, None
    for an absent field, and of a state field all values that the image may follow. The write is
    refused if the item's fields differ from them, because the result would not be the item that
    was checked.
    """
    write = ConditionalWrite()
    assignments = []
    for name, value in image.items():
        if name in {"PK", "SK"}:
            continue
        placeholder, new_value = write.add_name(name), write.add_value(value)
        if name == "created_at" or (name == "ttl" and not expiry.is_renewed):
            new_value = f"if_not_exists({placeholder}, {new_value})"
        elif name == "version":
            zero = write.add_value(_to_number(0))
            new_value = f"if_not_exists({placeholder}, {zero}) + {new_value}"
        assignments.append(f"{placeholder} = {new_value}")
    removed = absent if "ttl" in image else (*absent, "ttl")
    removed_names = [write.add_name(name) for name in removed]
    write.update = f"SET {', '.join(assignments)}"
    if removed_names:
        write.update += f" REMOVE {', '.join(removed_names)}"
    conditions = [_equals(write, name, value) for name, value in unchanged.items()]
    if expiry.alive_at is not None:
        conditions.append(_is_alive(write, expiry.alive_at))
    if expiry.since:
        conditions.append(f"{write.add_name('gen')} >= {write.add_value(_to_number(expiry.since))}")
    if expiry.is_required:
        conditions.append(f"attribute_exists({write.add_name('ttl')})")
    if if_match is not None:
        write.condition = _join_all([_equals(write, "version", _to_number(if_match)), *conditions])
    elif conditions:
        key_name = write.add_name("PK")
        write.condition = f"attribute_not_exists({key_name}) OR ({_join_all(conditions)})"
        if must_exist:
            write.condition = f"attribute_exists({key_name}) AND ({write.condition})"
    return write.to_update(key)


def build_removal(
    key: ItemKey, now: int, if_match: int | None, owner: tuple[str, str] | None = None
) -> Delete:
    """Delete an item that exists and has not expired.

    ``owner``: the field with the owner, and the one whose item it must be.
    """
    write = ConditionalWrite()
    is_alive = _is_alive(write, now)
    conditions = [f"attribute_exists({write.add_name('PK')})", is_alive]
    if if_match is not None:
        conditions.append(_equals(write, "version", _to_number(if_match)))
    if owner is not None:
        conditions.append(_equals(write, owner[0], {"S": owner[1]}))
    write.condition = _join_all(conditions)
    return write.to_delete(key)


def if_absent() -> ConditionalWrite:
    """The condition that no item exists at the key."""
    write = ConditionalWrite()
    write.condition = f"attribute_not_exists({write.add_name('PK')})"
    return write


def if_unchanged(image: Image, *more: str) -> ConditionalWrite:
    """The condition that the item still has the version, creation and expiry of ``image``.

    An item without a version must have all of its attributes. ``more``: names of further ones.
    """
    if isinstance(get_tag(image), str):
        write = ConditionalWrite()
        write.condition = _join_all([_equals(write, *each) for each in image.items()])
        return write
    condition, names, values = require_same(image, ("version", "created_at", "ttl", *more))
    return ConditionalWrite("", condition, names, values)


def _is_alive(write: ConditionalWrite, now: int) -> str:
    ttl = write.add_name("ttl")
    return f"attribute_not_exists({ttl}) OR {ttl} > {write.add_value(_to_number(now))}"


def _join_all(conditions: Sequence[str]) -> str:
    """All of these conditions, at least one. DynamoDB refuses redundant parentheses."""
    if len(conditions) == 1:
        return conditions[0]
    return " AND ".join(f"({each})" if " OR " in each else each for each in conditions)


def _equals(
    write: ConditionalWrite,
    name: str,
    value: AttributeValue | tuple[AttributeValue, ...] | None,
) -> str:
    if isinstance(value, tuple):
        allowed = ", ".join(write.add_value(each) for each in value)
        return f"{write.add_name(name)} IN ({allowed})"
    if value is None:
        return f"attribute_not_exists({write.add_name(name)})"
    return f"{write.add_name(name)} = {write.add_value(value)}"


def _to_number(value: int) -> AttributeValue:
    return {"N": str(value)}
