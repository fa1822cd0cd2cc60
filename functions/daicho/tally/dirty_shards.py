"""The partitions of GSI2 that may hold dirty marks: as many as marks were ever spread over.

`DIRTY_SHARDS` is the number that they are spread over now. If it were lowered, marks would be left
in partitions that nobody reads, and a marked slot is not marked again. So the table stores the
highest number that a rollup of it ever had, and all of those partitions are read: half a unit for
each a run.
"""

from __future__ import annotations

from daicho.storage import attributes, keys
from daicho.storage.attributes import ItemKey
from daicho.storage.protocols import try_update
from daicho.storage.requests import build_change
from daicho.storage.table import Table

MAX_REMEMBERED = ItemKey(keys.render("", "dirty"), "shards")
"""The item that holds that number."""


def remember_shards(store: Table, shards: int) -> int:
    """The most partitions that marks were ever spread over; ``shards`` is the current number.

    Raises:
        StoreError: the number cannot be read at this moment.
    """
    condition = "attribute_not_exists(#shards) OR #shards < :shards"
    raised = build_change(MAX_REMEMBERED, {"shards": shards}, condition)
    while (shard_count := _read_shards(store)) < shards:
        try_update(store, raised)  # refused: another rollup has stored more
    return shard_count


def _read_shards(store: Table) -> int:
    return attributes.get_integer(store.get(MAX_REMEMBERED, consistent=True) or {}, "shards") or 0
