"""The primary key of an item of the table."""

from __future__ import annotations

from typing import NamedTuple

from daicho.storage.attributes import Image

EMPTY_SORT_KEY = "-"


class ItemKey(NamedTuple):
    """A primary key of the table.

    A tuple, because batches are folded by key: it is compared and hashed without calls of Python.
    """

    pk: str
    sk: str


def get_key(image: Image) -> ItemKey:
    """The primary key of an image."""
    return ItemKey(image["PK"]["S"], image["SK"]["S"])
