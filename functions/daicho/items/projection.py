"""Views: some fields of an item, read by a projection.

A projection makes the answer smaller, not the reading cheaper: DynamoDB counts the whole item.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from daicho.declare.entity import Entity, read_fields
from daicho.declare.results import UnreadableItem
from daicho.declare.rules.declared_places import list_scale_attributes
from daicho.items.mapper import INHERITED, UNREADABLE, explain_unreadable, read_values
from daicho.layout.migrations import read_migrated
from daicho.plan import Ledger
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage.attributes import Image


@dataclass(frozen=True)
class View:
    """Some fields of one item, by name, and the version that it had."""

    entity: type[Entity]
    values: Mapping[str, Any]
    version: int


@dataclass(frozen=True)
class ViewPage:
    """A page of views; see `Page`."""

    items: list[View]
    cursor: str | None
    unreadable: Sequence[UnreadableItem] = ()


def list_field_names(entity: type[Entity]) -> tuple[str, ...]:
    """The fields that may be requested: visible fields of the item itself, and inherited ones."""
    own = (
        name
        for name, spec in entity.fields_.items()
        if not spec.hidden and spec is not entity.split_field_
    )
    return (*own, *list_inherited_names(entity))


def list_inherited_names(entity: type[Entity]) -> tuple[str, ...]:
    """The names that every item has besides its fields."""
    return INHERITED if entity.versioned_ else INHERITED[:-1]


def list_attributes(entity: type[Entity], names: Sequence[str]) -> tuple[str, ...]:
    """The attributes to read for these fields, with the version (ETag) and the ttl (expiry)."""
    scales = list_scale_attributes(entity, names)
    return tuple(dict.fromkeys((*names, *scales, "version", "ttl")))


def build_view(entity: type[Entity], image: Image, names: Sequence[str], ledger: Ledger) -> View:
    """The view of these fields of an image; one of an older generation is migrated.

    Raises:
        UnreadableError: the entity cannot represent the stored values.
        UnmigratableError: a field migration fails.
    """
    own = [name for name in names if name not in INHERITED]
    try:
        stored = read_values(entity, read_migrated(ledger, entity.__name__, image))
        inherited = {name: stored.pop(name, None) for name in INHERITED}
        inherited["version"] = inherited["version"] or 0
        values = read_fields(entity, stored, own)
    except UNREADABLE as error:
        raise explain_unreadable(entity, image, error) from error
    values |= {name: value for name, value in inherited.items() if name in names}
    return View(entity, values, inherited["version"])
