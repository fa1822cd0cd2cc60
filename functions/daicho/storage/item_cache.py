"""A function instance's cache of items that every request would read: bounded, short-lived.

A vote needs its poll. At 20,000 votes a second that is 20,000 reads of one partition key, which
takes 3,000; and the attributes that a vote needs rarely change. So a caller that accepts an older
item passes the maximum age, and each instance reads the item once in that time.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from threading import Lock

from daicho.storage.attributes import Image, ItemKey, measure_image

MAX_CACHED_ITEMS = 1_000
MAX_CACHED_BYTES = 16 * 1024 * 1024

COLLECTION = "#"
"""The sort key of a whole item collection. No real sort key begins with the delimiter."""

CachedItem = tuple[float, Image | None, int]


class ItemCache:
    """Images by key, with the time at which their reading began. Safe to share by threads."""

    def __init__(
        self,
        clock: Callable[[], dt.datetime],
        *,
        most: int = MAX_CACHED_ITEMS,
        most_bytes: int = MAX_CACHED_BYTES,
    ) -> None:
        self.clock, self._most, self._most_bytes = clock, most, most_bytes
        self._entries: dict[ItemKey, CachedItem] = {}
        self._bytes = 0
        self._lock = Lock()

    def get(
        self,
        key: ItemKey,
        max_age: float,
        read: Callable[[], Image | None],
        *,
        absence: bool = False,
        is_current: Callable[[Image | None], bool] = lambda _image: True,
    ) -> Image | None:
        """The item as it was at most ``max_age`` seconds ago; ``read`` reads it if necessary.

        The absence of an item is cached only with ``absence``: another instance may have created
        the item since. ``is_current``: whether the item may still be used, if its content shows it.
        """
        now = self._now()
        with self._lock:
            entry = self._entries.get(key)
        # An entry from the future comes from a clock that was set back: its age is unknown.
        if entry is not None and 0 <= now - entry[0] < max_age and is_current(entry[1]):
            return entry[1]
        image = read()
        if image is not None or absence:
            self._store_entry(key, (now, image, measure_image(image or {})))
        else:
            self.forget(key)
        return image

    def forget(self, key: ItemKey) -> None:
        """Drop an item and its collection from the cache: this instance has changed the item."""
        with self._lock:
            self._drop_oldest(key)
            self._drop_oldest(ItemKey(key.pk, COLLECTION))

    def _store_entry(self, key: ItemKey, entry: CachedItem) -> None:
        with self._lock:
            self._drop_oldest(key)
            self._entries[key] = entry
            self._bytes += entry[2]
            while len(self._entries) > self._most or self._bytes > self._most_bytes:
                self._drop_oldest(next(iter(self._entries)))

    def _drop_oldest(self, key: ItemKey) -> None:
        removed = self._entries.pop(key, None)
        self._bytes -= removed[2] if removed else 0

    def _now(self) -> float:
        return self.clock().timestamp()
