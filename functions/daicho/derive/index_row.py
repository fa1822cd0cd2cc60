"""Index rows: the place of a derived item, and the attributes that it copies from its base item.

With a copy, a page needs no read of the item itself. A copy is DynamoDB's own JSON with sorted
names: two copies are equal if and only if their contents are equal. It includes the ``ttl``, since
an expired item is hidden at once.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage.attributes import AttributeValue, Image, get_text
from daicho.storage.item_key import ItemKey

COPY_ATTRIBUTE = "copy"
"""The attribute of a derived item; GSI2 projects it."""
MAX_COPY_BYTES = 400 * 1024 - 8 * 1024
"""The limit of a copy. A derived item also holds its keys and its number."""


@dataclass(frozen=True)
class IndexRow:
    """The place of a derived item in GSI2, and the attributes that it copies from its base item.

    ``copy`` is text (`write_copy`): a value that is 32 levels deep would be too deep for DynamoDB
    if it were nested in another attribute.
    """

    gsi2pk: str
    gsi2sk: str
    copy: str | None = None

    @classmethod
    def from_item(cls, item: Image) -> IndexRow:
        """Read a derived item that is not a tombstone."""
        return cls(item["GSI2PK"]["S"], item["GSI2SK"]["S"], get_text(item, COPY_ATTRIBUTE))

    def to_item(self, key: ItemKey) -> dict[str, dict[str, str]]:
        """The derived item under this key, but for its number."""
        item = {
            "PK": {"S": key.pk},
            "SK": {"S": key.sk},
            "GSI2PK": {"S": self.gsi2pk},
            "GSI2SK": {"S": self.gsi2sk},
        }
        if self.copy is not None:
            item[COPY_ATTRIBUTE] = {"S": self.copy}
        return item


def write_copy(image: Image, names: Sequence[str]) -> str | None:
    """The copy of these attributes. None if there are no names."""
    if not names:
        return None
    copied = {name: _sort_set(image[name]) for name in (*names, "ttl") if name in image}
    return json.dumps(copied, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def read_copy(copy: str) -> Image:
    """The attributes of a copy."""
    image: Image = json.loads(copy)
    return image


def is_too_large(copy: str) -> bool:
    """Whether a derived item with this copy would be over 400 KB: it could never be written."""
    return len(copy) * 4 > MAX_COPY_BYTES and len(copy.encode()) > MAX_COPY_BYTES


def _sort_set(value: AttributeValue) -> AttributeValue:
    # A set has no order, and DynamoDB returns it in an order of its own.
    return {"SS": sorted(value["SS"])} if "SS" in value else value
