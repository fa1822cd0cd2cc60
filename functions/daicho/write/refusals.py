"""Refusals that several writers share: each text exists once."""

from __future__ import annotations

import datetime as dt

from daicho.declare.entity import Entity
from daicho.errors import PreconditionFailed, ReferenceNotFound
from daicho.layout import base_item
from daicho.layout.base_item import to_seconds
from daicho.storage.attributes import Image

CHANGED_MEANWHILE = "others changed the same at this moment; try again"
"""The text of a `Raced` for a write that depends on what was read before."""
WAITS_FOR_ARCHIVE = "an expired item of this key waits for the archive; try again later"


def check_version(
    version: int | str | None, if_match: int | str | None, part: str = "item"
) -> None:
    """Refuse an item, or a section, of another version than the caller expects.

    ``version`` is None if there is no such item, and the digest of an item without a version.
    ``if_match`` is None if any version will do.

    Raises:
        PreconditionFailed: the versions differ.
    """
    if if_match is None or version == if_match:
        return
    raise PreconditionFailed(
        f"there is no such {part}" if version is None else f"the {part} is of version {version}"
    )


def build_reference_not_found(target: type[Entity], id: object, field: str) -> ReferenceNotFound:
    """The refusal of an item whose ``field`` refers to an item that does not exist."""
    return ReferenceNotFound(f"there is no {target.__name__} {id}", field=field)


def select_live(existing: Image | None, now: dt.datetime) -> Image | None:
    """An item, unless it has expired."""
    if existing is None or base_item.is_expired(existing, to_seconds(now)):
        return None
    return existing


def explain_taken(entity: type[Entity], existing: Image | None, now: dt.datetime) -> str:
    """The message of the error that no item can be created at the key of ``existing``."""
    if existing is not None and base_item.is_expired(existing, to_seconds(now)):
        return WAITS_FOR_ARCHIVE
    return f"there is such an item of {entity.__name__} already"
