"""Where dirty marks may stand: over how many partitions of GSI2 they were ever spread.

`DIRTY_SHARDS` says over how many they are spread now. Were it lowered, marks would be left in
partitions that nobody reads, and whatever is marked is not marked anew. So the table remembers the
most that a rollup of it was ever told, and all of those are read: half a unit for each a run.
"""

from __future__ import annotations

from typing import Protocol

from daicho.storage import attributes, keys
from daicho.storage.item_key import ItemKey
from daicho.storage.protocols import GetsItems, UpdatesItems, try_update
from daicho.storage.requests import Update

MAX_REMEMBERED = ItemKey(keys.render("", "dirty"), "shards")
"""The item that remembers it."""


class DirtyShardsTable(GetsItems, UpdatesItems, Protocol):
    """What this needs of the table."""


def remember_shards(store: DirtyShardsTable, shards: int) -> int:
    """The most partitions that marks were ever spread over; ``shards`` are those of now.

    Raises:
        StoreError: nobody knows it at this moment.
    """
    while (known := _read_shards(store)) < shards:
        try_update(store, _raise_shards(shards))  # refused: another rollup knows of more
    return known


def _read_shards(store: DirtyShardsTable) -> int:
    return attributes.get_integer(store.get(MAX_REMEMBERED, consistent=True) or {}, "shards") or 0


def _raise_shards(shards: int) -> Update:
    return Update(
        MAX_REMEMBERED,
        "SET shards = :shards",
        "attribute_not_exists(shards) OR shards < :shards",
        values={":shards": attributes.to_value(shards)},
    )
