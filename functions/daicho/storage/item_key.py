"""The primary key of an item of the table."""

from __future__ import annotations

from dataclasses import dataclass

from daicho.storage.attributes import Image

EMPTY_SORT_KEY = "-"


@dataclass(frozen=True, order=True)
class ItemKey:
    """A primary key of the table."""

    pk: str
    sk: str


def get_key(image: Image) -> ItemKey:
    """The primary key of an image."""
    return ItemKey(image["PK"]["S"], image["SK"]["S"])
