"""A global secondary index: sparse, and some changes behind its table."""

from __future__ import annotations

from collections import deque
from math import inf

from daicho.storage.attributes import ItemKey
from daicho.testing.aws.dynamodb.attribute_values import Image

PROJECTIONS: dict[str, tuple[str, ...] | None] = {
    "GSI1": None,
    "GSI2": ("copy",),
    "GSI3": ("total",),
}
"""The attributes of each index in addition to keys; None is all. A test compares them with the
synthesised table."""


class LaggingIndex:
    """The items of an index, and the changes that it does not show yet."""

    def __init__(self, name: str, projection: tuple[str, ...] | None) -> None:
        self._keys = (f"{name}PK", f"{name}SK")
        self._projection = projection
        self._partitions: dict[str, dict[ItemKey, Image]] = {}
        self._waiting: deque[tuple[ItemKey, Image | None, Image | None, float]] = deque()

    def add_change(
        self, key: ItemKey, old: Image | None, new: Image | None, at: float = 0.0
    ) -> None:
        """Add a change of the table, which becomes visible later. ``at``: its time in seconds."""
        before, after = self._project(old), self._project(new)
        if before != after:
            self._waiting.append((key, before, after, at))

    def catch_up(self, behind: int = 0, until: float = -inf) -> None:
        """Show all changes but the last ``behind``, and all those of before ``until``."""
        while len(self._waiting) > behind or (self._waiting and self._waiting[0][3] <= until):
            key, before, after, _ = self._waiting.popleft()
            pk = self._keys[0]
            if before is not None:
                del self._partitions[before[pk]["S"]][key]
            if after is not None:
                self._partitions.setdefault(after[pk]["S"], {})[key] = after

    def list_partition(self, pk: str) -> list[Image]:
        """The visible items of a partition, in order."""
        items = self._partitions.get(pk, {})
        return sorted(items.values(), key=self._sort_key)

    def _sort_key(self, item: Image) -> tuple[str, str, str]:
        return (item[self._keys[1]]["S"], item["PK"]["S"], item["SK"]["S"])

    def _project(self, item: Image | None) -> Image | None:
        pk, sk = self._keys
        if item is None or pk not in item or sk not in item:
            return None
        if self._projection is None:
            return item
        attributes = ("PK", "SK", pk, sk, *self._projection)
        return {name: item[name] for name in attributes if name in item}
