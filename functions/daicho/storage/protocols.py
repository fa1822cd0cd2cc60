"""The methods of the table and of a bucket that parts of the library need, one by one.

Each part declares its needs in its own ``Store`` or ``Objects``, composed of these protocols.
Infrastructure grants exactly those, and a test double implements no others.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, Protocol

from daicho.errors import ConditionFailedError
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage.attributes import AttributeValue, Image
from daicho.storage.item_key import ItemKey
from daicho.storage.requests import InsertOutcome, ItemPage, Put, Query, Scan, Update, Write


class GetsItems(Protocol):
    """Reads items."""

    def get(self, key: ItemKey, *, consistent: bool = False) -> Image | None:
        """Read one item."""


class QueriesItems(Protocol):
    """Reads lists."""

    def query_pages(self, query: Query) -> Iterator[ItemPage]:
        """Read an item collection or a stretch of an index."""


class ScansItems(Protocol):
    """Reads the whole table."""

    def scan(self, scan: Scan) -> ItemPage:
        """Read one page of a segment of the whole table."""


class PutsItems(Protocol):
    """Writes items."""

    def put(
        self, item: Image, *, condition: str, values: Mapping[str, AttributeValue]
    ) -> Image | None:
        """Write a whole item if the condition holds."""


class InsertsItems(Protocol):
    """Creates many items in one request."""

    def insert_batch(self, items: Sequence[Image]) -> list[InsertOutcome]:
        """Create up to 25 items; the outcome of each."""


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


class TransactsWrites(Protocol):
    """Writes several items, or none."""

    def transact(self, writes: Sequence[Write]) -> None:
        """Do all writes or none."""


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


class DescribesStream(Protocol):
    """Describes the table's stream."""

    def list_shards(self) -> tuple[StreamShard, ...]:
        """All shards that the newest stream of the table has."""


class CreatesObjects(Protocol):
    """Creates objects, and reads the metadata of an object whose name is taken."""

    def create(self, key: str, body: bytes, metadata: Mapping[str, str]) -> bool:
        """Create an object; False if one of that name exists."""

    def get_metadata(self, key: str) -> Mapping[str, str]:
        """The metadata that an object was created with."""


class FetchesObjects(Protocol):
    """Reads objects."""

    def fetch(self, key: str) -> FetchedObject | None:
        """An object with its metadata; None if there is none of that name."""


class ListsNames(Protocol):
    """Lists objects by name."""

    def list_names(self, prefix: str, *, behind: str = "") -> Iterator[str]:
        """The names that begin with ``prefix`` and sort behind ``behind``, in order."""


class ListsObjects(Protocol):
    """Lists objects with sizes and times."""

    def list_objects(
        self, prefix: str, *, behind: str = "", most: int = 1000
    ) -> Iterator[ListedObject]:
        """The objects whose names begin with ``prefix`` and sort behind ``behind``, in order."""


class RewritesObjectVersions(Protocol):
    """Reads every version of the objects, replaces the newest, removes any permanently."""

    def list_versions(self, prefix: str, *, behind: str = "") -> Iterator[ObjectVersion]:
        """Every version of every object whose name begins with ``prefix``, in order of name."""

    def fetch(self, key: str, version: str | None = None) -> FetchedObject | None:
        """An object, or one version of it, with its metadata."""

    def replace(
        self, key: str, body: bytes, metadata: Mapping[str, str], etag: str, kind: str = ...
    ) -> bool:
        """Replace the object that has this ``etag``."""

    def remove_versions(self, versions: Sequence[ObjectVersion]) -> None:
        """Remove versions permanently."""
