"""A global secondary index: sparse, and behind its table."""

from __future__ import annotations

from collections import deque

from daicho.storage.item_key import ItemKey
from tests.delivery.aws.attributes import Image

PROJECTIONS: dict[str, tuple[str, ...] | None] = {
    "GSI1": None,
    "GSI2": ("copy",),
    "GSI3": ("total",),
}
"""Attributes besides keys that each index shows; None is all. As `infra.table` declares them."""


class Index:
    """What stands in an index, and the changes that it does not show yet."""

    def __init__(self, name: str, projection: tuple[str, ...] | None) -> None:
        self._keys = (f"{name}PK", f"{name}SK")
        self._projection = projection
        self._shown: dict[ItemKey, Image] = {}
        self._partitions: dict[str, dict[ItemKey, Image]] = {}
        self._waiting: deque[tuple[ItemKey, Image | None]] = deque()

    def note(self, key: ItemKey, old: Image | None, new: Image | None) -> None:
        """Take a change of the table in; it shows later."""
        before, after = self._projected(old), self._projected(new)
        if before != after:
            self._waiting.append((key, after))

    def catch_up(self, behind: int = 0) -> None:
        """Show all changes but the last ``behind``."""
        while len(self._waiting) > behind:
            key, item = self._waiting.popleft()
            pk = self._keys[0]
            if (shown := self._shown.pop(key, None)) is not None:
                del self._partitions[shown[pk]["S"]][key]
            if item is not None:
                self._shown[key] = item
                self._partitions.setdefault(item[pk]["S"], {})[key] = item

    def partition(self, pk: str) -> list[Image]:
        """What the index shows of a partition, in order."""
        found = self._partitions.get(pk, {})
        return sorted(found.values(), key=self._place)

    def _place(self, item: Image) -> tuple[str, str, str]:
        return (item[self._keys[1]]["S"], item["PK"]["S"], item["SK"]["S"])

    def _projected(self, item: Image | None) -> Image | None:
        pk, sk = self._keys
        if item is None or pk not in item or sk not in item:
            return None
        if self._projection is None:
            return item
        kept = ("PK", "SK", pk, sk, *self._projection)
        return {name: item[name] for name in kept if name in item}
