"""The library's table and bucket over memory, for tests that look at what they hold."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

from daicho.runtime.clock import utc_now
from daicho.storage.attributes import Image
from daicho.storage.bucket import Bucket
from daicho.storage.item_key import ItemKey
from daicho.storage.table import Table
from tests.delivery.aws.dynamo import Dynamo
from tests.delivery.aws.objects import Objects


class MemoryTable(Table):
    """A table whose items can be seen and set."""

    def __init__(self) -> None:
        self._dynamo = Dynamo(utc_now)
        client: Any = self._dynamo
        super().__init__(client, "daicho")

    @property
    def items(self) -> MutableMapping[ItemKey, Image]:
        """What stands in it."""
        return _Items(self._dynamo)


class MemoryBucket(Bucket):
    """A bucket whose objects can be seen. ``now``: the clock by which they are laid down."""

    def __init__(self, now: Callable[[], dt.datetime] = utc_now) -> None:
        self.now = now
        self._stored = Objects(self._at)
        client: Any = self._stored
        super().__init__(client, "bucket")

    def _at(self) -> dt.datetime:
        return self.now()

    @property
    def objects(self) -> Mapping[str, tuple[bytes, Mapping[str, str]]]:
        """Bodies and metadata by name."""
        return {key: (each.body, each.metadata) for key, each in self._stored.stored.items()}

    @property
    def older(self) -> Mapping[str, int]:
        """How many older versions there are, by name."""
        return {key: len(each) for key, each in self._stored.older.items() if each}

    def spoil(self, key: str, body: bytes, metadata: Mapping[str, str] | None = None) -> None:
        """Overwrite an object by hand; its metadata stays, if nothing else is said."""
        before = self._stored.stored.get(key)
        kept = before.metadata if before and metadata is None else metadata or {}
        self._stored.put_object(Key=key, Body=body, Metadata=dict(kept))

    def remove(self, key: str) -> None:
        """Remove an object by hand, with all its versions."""
        del self._stored.stored[key]


class _Items(MutableMapping[ItemKey, Image]):
    def __init__(self, dynamo: Dynamo) -> None:
        self._dynamo = dynamo

    def __getitem__(self, key: ItemKey) -> Image:
        found = self._dynamo.find(key)
        if found is None:
            raise KeyError(key)
        return found

    def __setitem__(self, key: ItemKey, item: Image) -> None:
        self._dynamo.commit(key, item)

    def __delitem__(self, key: ItemKey) -> None:
        self._dynamo.commit(key, None)

    def __iter__(self) -> Iterator[ItemKey]:
        return iter([key for key, _ in self._dynamo.items])

    def __len__(self) -> int:
        return len(list(self._dynamo.items))
