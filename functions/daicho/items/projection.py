"""Views: some fields of an item, read by a projection.

A projection makes the answer smaller, not the reading cheaper: DynamoDB counts the whole item.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from daicho.declare.entity import Entity, read_fields
from daicho.declare.split import find_split_field
from daicho.items.mapper import UnreadableError, read_field_values, read_versioned_at
from daicho.layout.base_item import get_version
from daicho.storage import attributes
from daicho.storage.attributes import Image

INHERITED = ("created_at", "version", "versioned_at")


@dataclass(frozen=True)
class View:
    """Some fields of one item, by name, and the version that it had."""

    entity: type[Entity]
    values: Mapping[str, Any]
    version: int


@dataclass(frozen=True)
class ViewPage:
    """A page of views, and the cursor that goes on behind them: None only at the end."""

    items: list[View]
    cursor: str | None


def list_field_names(entity: type[Entity]) -> tuple[str, ...]:
    """The fields that may be requested: visible fields of the item itself, and inherited ones."""
    apart = find_split_field(entity)
    own = (name for name, spec in entity.fields_.items() if not spec.hidden and spec is not apart)
    return (*own, *list_inherited_names(entity))


def list_inherited_names(entity: type[Entity]) -> tuple[str, ...]:
    """The names that every item has beside its fields."""
    return INHERITED if entity.versioned_ else INHERITED[:-1]


def list_attributes(names: Sequence[str]) -> tuple[str, ...]:
    """The attributes to read for these fields, with the version (ETag) and the ttl (expiry)."""
    return tuple(dict.fromkeys((*names, "version", "ttl")))


def build_view(entity: type[Entity], image: Image, names: Sequence[str]) -> View:
    """The view of these fields of an image.

    Raises:
        UnreadableError: the entity cannot represent the stored values.
    """
    own = [name for name in names if name not in INHERITED]
    try:
        values = read_fields(entity, read_field_values(entity, image), own)
    except ValidationError as error:
        raise UnreadableError(f"{entity.__name__}: {error}") from error
    if "created_at" in names:
        values["created_at"] = dt.datetime.fromisoformat(
            attributes.get_text(image, "created_at") or ""
        )
    if "versioned_at" in names:
        values["versioned_at"] = read_versioned_at(entity, image)
    version = get_version(image)
    return View(entity, values | ({"version": version} if "version" in names else {}), version)
