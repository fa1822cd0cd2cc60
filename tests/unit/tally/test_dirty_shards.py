"""The number of partitions that dirty marks were ever spread over, as the table remembers it."""

from __future__ import annotations

from typing import Any

from daicho.storage.attributes import ItemKey
from daicho.tally.dirty_shards import MAX_REMEMBERED, remember_shards
from tests.support.memory_stores import MemoryTable


def test_of_two_rollups_that_were_told_differently_the_table_remembers_the_more() -> None:
    class Racing(MemoryTable):
        raced = False

        def update(self, key: ItemKey, update: str, **named: Any) -> None:
            if key == MAX_REMEMBERED and not self.raced:
                self.raced = True
                assert remember_shards(self, 8) == 8
            super().update(key, update, **named)

    for told, found in ((2, 8), (9, 9)):
        table = Racing()
        assert remember_shards(table, told) == found
        assert remember_shards(table, 1) == found
