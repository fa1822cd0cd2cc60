"""A table that is lost, and a torn copy of it that takes its place."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Any

from daicho.storage.attributes import ItemKey
from daicho.testing.aws.dynamodb.attribute_values import Image
from daicho.testing.aws.memory_dynamodb import MemoryDynamoDB
from daicho.testing.aws.stream_recorder import StreamRecorder

PARTS = 2


@dataclass
class TornCopy:
    """A copy of a table: each part of it may be of another moment. ``salt`` divides the items."""

    salt: str = ""
    items: dict[ItemKey, Image] = field(default_factory=dict)

    def copy_part(self, dynamodb: MemoryDynamoDB, part: int) -> None:
        """Copy the items of a part as they are now."""
        self.items |= {key: item for key, item in dynamodb.items if self._find_part(key) == part}

    def replace(self, dynamodb: MemoryDynamoDB, recorder: StreamRecorder, label: str) -> None:
        """Lose the table: the copy takes its place, without its stream, and gets another one."""
        recorder.stream.enabled = False
        observers = recorder.observers[:]
        recorder.observers.clear()  # nothing writes: another table is read from now on
        lost: dict[ItemKey, Any] = {key: None for key, _ in dynamodb.items}
        for key, item in {**lost, **self.items}.items():
            dynamodb.commit(key, item)
        dynamodb._recent_changes.clear()  # they were changes of the lost table
        for index in dynamodb.indexes.values():
            index.catch_up()
        recorder.observers += observers
        recorder.begin_stream(label, 0)

    def _find_part(self, key: ItemKey) -> int:
        return zlib.crc32(f"{self.salt}{key.pk} {key.sk}".encode()) % PARTS
