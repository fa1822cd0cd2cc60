"""Rows: where a derived item stands, and what it brings along of its base item.

A copy lets a page do without the item itself. It is DynamoDB's own JSON with its names in order:
two copies are alike if and only if what they hold is. It brings the ``ttl`` too, since what has
expired is hidden at once.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from daicho.storage.attributes import AttributeValue, Image, get_text

COPY_ATTRIBUTE = "copy"
"""The attribute of a derived item; GSI2 projects it."""
MAX_COPY_BYTES = 400 * 1024 - 8 * 1024
"""Of a copy: a derived item holds its keys and its number besides."""


@dataclass(frozen=True)
class IndexRow:
    """Where a derived item stands in GSI2, and what it copies of its base item.

    ``copy`` is text (`written`): nested in an attribute, what is 32 levels deep would be too
    deep for DynamoDB.
    """

    gsi2pk: str
    gsi2sk: str
    copy: str | None = None

    @classmethod
    def from_item(cls, item: Image) -> IndexRow:
        """Read a derived item that is no tombstone."""
        return cls(item["GSI2PK"]["S"], item["GSI2SK"]["S"], get_text(item, COPY_ATTRIBUTE))

    @property
    def attributes(self) -> dict[str, dict[str, str]]:
        """What a derived item holds besides its key and its number."""
        found = {"GSI2PK": {"S": self.gsi2pk}, "GSI2SK": {"S": self.gsi2sk}}
        return found if self.copy is None else found | {COPY_ATTRIBUTE: {"S": self.copy}}


def write_copy(image: Image, names: Sequence[str]) -> str | None:
    """The copy of these attributes; None of none."""
    if not names:
        return None
    copied = {name: _sort_set(image[name]) for name in (*names, "ttl") if name in image}
    return json.dumps(copied, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def read_copy(copy: str) -> Image:
    """The attributes of a copy."""
    found: Image = json.loads(copy)
    return found


def is_too_large(copy: str) -> bool:
    """Whether a derived item with this copy would be over 400 KB: it could never be written."""
    return len(copy) * 4 > MAX_COPY_BYTES and len(copy.encode()) > MAX_COPY_BYTES


def _sort_set(value: AttributeValue) -> AttributeValue:
    # A set has no order, and DynamoDB gives it back in one of its own.
    return {"SS": sorted(value["SS"])} if "SS" in value else value
