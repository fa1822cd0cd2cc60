"""The primary key of an item of the table."""

from __future__ import annotations

from dataclasses import dataclass

from daicho.storage.attributes import Image

NO_SORT_PART = "-"


@dataclass(frozen=True, order=True)
class ItemKey:
    """A primary key of the table."""

    pk: str
    sk: str


def key_of(image: Image) -> ItemKey:
    """The primary key of an image."""
    return ItemKey(image["PK"]["S"], image["SK"]["S"])
