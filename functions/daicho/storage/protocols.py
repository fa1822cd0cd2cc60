"""Single methods of the table as protocols, and the values that a bucket and a stream return.

`daicho.storage.table.Table` fulfils the protocols, and so does the table with a time limit
(`daicho.tally.limited_table`). What needs the table for more than one of them names `Table`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from typing import Literal, Protocol

from daicho.errors import ConditionFailedError
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage.attributes import AttributeValue, Image, ItemKey
from daicho.storage.requests import ItemPage, Put, Query, Update


class GetsItems(Protocol):
    """Reads items."""

    def get(self, key: ItemKey, *, consistent: bool = False) -> Image | None:
        """Read one item."""


class QueriesItems(Protocol):
    """Reads lists."""

    def query_pages(self, query: Query) -> Iterator[ItemPage]:
        """Read an item collection or a stretch of an index."""


class PutsItems(Protocol):
    """Writes items."""

    def put(
        self, item: Image, *, condition: str, values: Mapping[str, AttributeValue]
    ) -> Image | None:
        """Write a whole item if the condition holds."""


class UpdatesItems(Protocol):
    """Changes items."""

    def update(
        self,
        key: ItemKey,
        update: str,
        *,
        condition: str | None = None,
        names: Mapping[str, str],
        values: Mapping[str, AttributeValue],
        returns: Literal["ALL_NEW"] | None = None,
    ) -> Image | None:
        """Change an item, or create it, if the condition holds; returns the new one on request."""


def apply_update(
    store: UpdatesItems, change: Update, returns: Literal["ALL_NEW"] | None = None
) -> Image | None:
    """Make a change; returns the new item on request.

    Raises:
        ConditionFailedError: with the item at the key.
    """
    return store.update(
        change.key,
        change.update,
        condition=change.condition,
        names=change.names,
        values=change.values,
        returns=returns,
    )


def try_update(store: UpdatesItems, change: Update) -> bool:
    """Make a change; False if its condition does not hold."""
    try:
        apply_update(store, change)
    except ConditionFailedError:
        return False
    return True


def try_put(store: PutsItems, write: Put) -> bool:
    """Put a whole item; False if its condition does not hold.

    Raises:
        ValueError: it has no condition, or one with names, which `PutsItems` does not have.
    """
    if write.condition is None or write.names:
        raise ValueError(f"not a put with a plain condition: {write}")
    try:
        store.put(write.item, condition=write.condition, values=write.values)
    except ConditionFailedError:
        return False
    return True


@dataclass(frozen=True)
class ListedObject:
    """An object as a listing shows it. ``size`` in bytes."""

    name: str
    size: int
    modified: dt.datetime


@dataclass(frozen=True)
class FetchedObject:
    """An object with its metadata. ``etag`` identifies this state of the object."""

    body: bytes
    metadata: Mapping[str, str]
    etag: str


@dataclass(frozen=True)
class ObjectVersion:
    """A version of an object, or the mark of its deletion. ``newest``: reads return it."""

    name: str
    id: str
    newest: bool
    modified: dt.datetime
    removal: bool = False


@dataclass(frozen=True)
class StreamShard:
    """A shard of a stream. ``is_closed``: it gets no more records. ``parent``: None if unknown."""

    id: str
    parent: str | None = None
    is_closed: bool = False


@dataclass(frozen=True)
class StreamDescription:
    """The newest stream of a table. ``label``: no other stream of it has it; "" if it has none.

    ``is_enabled``: whether changes of the table get a record.
    """

    label: str
    is_enabled: bool
    shards: tuple[StreamShard, ...]


class DescribesStream(Protocol):
    """Describes the table's stream."""

    def list_shards(self) -> tuple[StreamShard, ...]:
        """All shards that the newest stream of the table has."""

    def describe(self) -> StreamDescription:
        """The newest stream of the table. One without a label keeps every record."""
        return StreamDescription("", True, self.list_shards())
