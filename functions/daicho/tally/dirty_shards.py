"""Where dirty marks may stand: over how many partitions of GSI2 they were ever spread.

`DIRTY_SHARDS` says over how many they are spread now. Were it lowered, marks would be left in
partitions that nobody reads, and whatever is marked is not marked anew. So the table remembers the
most that a rollup of it was ever told, and all of those are read: half a unit for each a run.
"""

from __future__ import annotations

from typing import Protocol

from daicho.storage import attributes, keys
from daicho.storage.item_key import ItemKey
from daicho.storage.protocols import Gets, Updates, try_change
from daicho.storage.requests import Update

MOST = ItemKey(keys.render("", "dirty"), "shards")
"""The item that remembers it."""


class Store(Gets, Updates, Protocol):
    """What this needs of the table."""


def remembered(store: Store, shards: int) -> int:
    """The most partitions that marks were ever spread over; ``shards`` are those of now.

    Raises:
        StoreError: nobody knows it at this moment.
    """
    while (known := _known(store)) < shards:
        try_change(store, _raising(shards))  # refused: another rollup knows of more
    return known


def _known(store: Store) -> int:
    return attributes.integer(store.get(MOST, consistent=True) or {}, "shards") or 0


def _raising(shards: int) -> Update:
    return Update(
        MOST,
        "SET shards = :shards",
        "attribute_not_exists(shards) OR shards < :shards",
        values={":shards": attributes.to_value(shards)},
    )
