"""The limits of DynamoDB for the simulation of votes: units of a partition key in a second.

This is the strictest interpretation of the limits: no units are left over from quieter seconds
(DynamoDB keeps bursts for five minutes), and no hot key is split over partitions (DynamoDB does
that in time).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from daicho.errors import ThrottledError
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.keys import WRITES_A_SECOND
from daicho.storage.requests import NO_NAMES
from tests.support.memory_stores import MemoryTable

READS_A_SECOND = 3_000
INDEXES = ("GSI1", "GSI2", "GSI3")


class Limits:
    """Write units by partition key and second; requests over the limit are rejected."""

    def __init__(self) -> None:
        self.most_asked: Counter[str] = Counter()
        """The maximum of units that were requested of each key in a second."""
        self.units = 0
        self._taken: Counter[str] = Counter()
        self._demand: Counter[str] = Counter()

    def take(self, key: str, units: int = 1) -> bool:
        """Take units of a key, if enough units are left in this second."""
        self._demand[key] += units
        if self._taken[key] + units > WRITES_A_SECOND:
            return False
        self._taken[key] += units
        self.units += units
        return True

    def next_second(self) -> Mapping[str, int]:
        """Begin another second; return the units that each key took in the last one."""
        taken = self._taken
        for key, units in self._demand.items():
            self.most_asked[key] = max(self.most_asked[key], units)
        self._taken, self._demand = Counter(), Counter()
        return taken


class LimitedTable(MemoryTable):
    """A table in memory whose writes take units of their keys, and of the indexes' keys.

    It evaluates the expressions as DynamoDB does. One case has a shorter path with the same result:
    a further vote for a slot that is already marked. There are a million of these.
    """

    def __init__(self, limits: Limits) -> None:
        super().__init__()
        self.limits = limits

    def put(self, item: Image, **named: Any) -> Image | None:
        """Write a whole item."""
        return self._measured(ItemKey(item["PK"]["S"], item["SK"]["S"]), super().put, item, **named)

    def update(self, key: ItemKey, update: str, **named: Any) -> Image | None:
        """Change an item."""
        return self._measured(key, super().update, key, update, **named)

    def add(
        self,
        key: ItemKey,
        update: str,
        *,
        names: Mapping[str, str] = NO_NAMES,
        values: Mapping[str, Any] = NO_NAMES,
    ) -> Image | None:
        """A fast vote: an update of a unit, and no condition."""
        image = self._dynamodb.find(key)
        if image is None or "GSI2PK" not in image or ":throttled" in values:
            return self.update(key, update, names=names, values=values)
        if not self.limits.take(key.pk):
            raise ThrottledError(key.pk)
        marked: dict[str, Any] = image  # type: ignore[assignment]  # its own: nobody else has it
        marked["items"] = {"N": str(int(image["items"]["N"]) + int(values[":one"]["N"]))}
        marked["slots"] = values[":slots"]
        return None

    def _measured(
        self, key: ItemKey, write: Callable[..., Image | None], *given: Any, **named: Any
    ) -> Image | None:
        before = dict(self._dynamodb.find(key) or {})
        if not self.limits.take(key.pk):
            raise ThrottledError(key.pk)
        result = write(*given, **named)
        after = self._dynamodb.find(key) or {}
        for index in INDEXES:
            places = [image.get(f"{index}PK", {}).get("S") for image in (before, after)]
            moved = before.get(f"{index}SK") != after.get(f"{index}SK")
            for place in filter(None, places) if moved or len(set(places)) > 1 else ():
                self.limits.take(f"{index} {place}")
        return result
