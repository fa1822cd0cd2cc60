"""The library's table and bucket in memory, for tests that check what they contain."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

from daicho.runtime.clock import utc_now
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.bucket import Bucket
from daicho.storage.table import Table
from daicho.testing.aws.memory_dynamodb import MemoryDynamoDB
from daicho.testing.aws.memory_s3 import MemoryS3


class MemoryTable(Table):
    """The library's table in memory. Tests read and set its items directly."""

    def __init__(self) -> None:
        self._dynamodb = MemoryDynamoDB(utc_now)
        client: Any = self._dynamodb
        super().__init__(client, "daicho")

    @property
    def items(self) -> MutableMapping[ItemKey, Image]:
        """The items of the table, by key. A change is a write without any condition."""
        return _Items(self._dynamodb)


class SigningS3(MemoryS3):
    """Signs URLs too."""

    def generate_presigned_url(self, method: str, Params: dict[str, str], **_: object) -> str:
        return f"https://objects.example/{method}/{Params['Key']}"


class MemoryObjects:
    """Any versioned buckets in memory, behind the names of botocore's client."""

    def __init__(self, now: Callable[[], dt.datetime] = utc_now) -> None:
        self._buckets: defaultdict[str, SigningS3] = defaultdict(lambda: SigningS3(now))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda Bucket, **request: getattr(self._buckets[Bucket], name)(**request)


class MemoryBucket(Bucket):
    """The library's bucket in memory. Tests read and change its objects directly.

    ``now``: the time, in UTC; an attribute, so that a test can replace it.
    """

    def __init__(self, now: Callable[[], dt.datetime] = utc_now) -> None:
        self.now = now
        self._stored = SigningS3(self._get_time)
        client: Any = self._stored
        super().__init__(client, "bucket")

    def _get_time(self) -> dt.datetime:
        return self.now()

    @property
    def objects(self) -> Mapping[str, tuple[bytes, Mapping[str, str]]]:
        """The body and the metadata of each object, by name."""
        return {key: (stored.body, stored.metadata) for key, stored in self._stored.stored.items()}

    @property
    def older(self) -> Mapping[str, int]:
        """The number of older versions of each object, by name."""
        return {key: len(versions) for key, versions in self._stored.older.items() if versions}

    def overwrite(self, key: str, body: bytes, metadata: Mapping[str, str] | None = None) -> None:
        """Overwrite an object directly. Without ``metadata`` it keeps its own."""
        before = self._stored.stored.get(key)
        kept = before.metadata if before and metadata is None else metadata or {}
        self._stored.put_object(Key=key, Body=body, Metadata=dict(kept))

    def remove(self, key: str) -> None:
        """Remove the current object directly. Older versions stay."""
        del self._stored.stored[key]


class _Items(MutableMapping[ItemKey, Image]):
    def __init__(self, dynamodb: MemoryDynamoDB) -> None:
        self._dynamodb = dynamodb

    def __getitem__(self, key: ItemKey) -> Image:
        item = self._dynamodb.find(key)
        if item is None:
            raise KeyError(key)
        return item

    def __setitem__(self, key: ItemKey, item: Image) -> None:
        self._dynamodb.commit(key, item)

    def __delitem__(self, key: ItemKey) -> None:
        self._dynamodb.commit(key, None)

    def __iter__(self) -> Iterator[ItemKey]:
        return iter([key for key, _ in self._dynamodb.items])

    def __len__(self) -> int:
        return len(list(self._dynamodb.items))
