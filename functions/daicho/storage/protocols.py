"""What parts of the library need of the table and of a bucket, method by method.

Each part says in its own ``Store`` or ``Objects`` what it needs, put together of these:
infrastructure grants just that, and a test stands in with no more.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from daicho.errors import ConditionFailedError
from daicho.storage.attributes import AttributeValue, Image
from daicho.storage.item_key import ItemKey
from daicho.storage.requests import Page, Query, Scan, Update, Write


class Gets(Protocol):
    """Reads items."""

    def get(self, key: ItemKey, *, consistent: bool = False) -> Image | None:
        """Read one item."""


class Pages(Protocol):
    """Reads lists."""

    def pages(self, query: Query) -> Iterator[Page]:
        """Read an item collection or a stretch of an index."""


class Scans(Protocol):
    """Reads the whole table."""

    def scan(self, scan: Scan) -> Page:
        """Read one page of a segment of the whole table."""


class Puts(Protocol):
    """Writes items."""

    def put(
        self, item: Image, *, condition: str, values: Mapping[str, AttributeValue]
    ) -> Image | None:
        """Write a whole item if the condition holds."""


class Updates(Protocol):
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
        """Change an item, or create it, if the condition holds; gives the new one if asked."""


class Transacts(Protocol):
    """Writes several items, or none."""

    def transact(self, writes: Sequence[Write]) -> None:
        """Do all writes or none."""


def change_item(
    store: Updates, change: Update, returns: Literal["ALL_NEW"] | None = None
) -> Image | None:
    """Make a change; gives the new item if asked.

    Raises:
        ConditionFailedError: with the item that stands there.
    """
    return store.update(
        change.key,
        change.update,
        condition=change.condition,
        names=change.names,
        values=change.values,
        returns=returns,
    )


def try_change(store: Updates, change: Update) -> bool:
    """Make a change; False if its condition does not hold."""
    try:
        change_item(store, change)
    except ConditionFailedError:
        return False
    return True


@dataclass(frozen=True)
class Listed:
    """An object as a listing shows it. ``size`` in bytes."""

    name: str
    size: int
    modified: dt.datetime


@dataclass(frozen=True)
class Fetched:
    """An object with its metadata. ``etag`` tells whether it is still the same one later."""

    body: bytes
    metadata: Mapping[str, str]
    etag: str


@dataclass(frozen=True)
class Version:
    """A version of an object, or the mark of its deletion. ``newest``: it is what is read."""

    name: str
    id: str
    newest: bool
    modified: dt.datetime
    removal: bool = False


class Creates(Protocol):
    """Creates objects, and looks at what stands under a name that is taken."""

    def create(self, key: str, body: bytes, metadata: Mapping[str, str]) -> bool:
        """Create an object; False if one of that name exists."""

    def metadata(self, key: str) -> Mapping[str, str]:
        """The metadata that an object was created with."""


class Fetches(Protocol):
    """Reads objects."""

    def fetch(self, key: str) -> Fetched | None:
        """An object with its metadata; None if there is none of that name."""


class Names(Protocol):
    """Lists objects by name."""

    def names(self, prefix: str, *, behind: str = "") -> Iterator[str]:
        """The names that begin with ``prefix`` and sort behind ``behind``, in order."""


class Lists(Protocol):
    """Lists objects with sizes and times."""

    def listed(self, prefix: str, *, behind: str = "", most: int = 1000) -> Iterator[Listed]:
        """The objects whose names begin with ``prefix`` and sort behind ``behind``, in order."""


class RewritesVersions(Protocol):
    """Reads every version of what there is, replaces the newest, removes any for good."""

    def versions(self, prefix: str, *, behind: str = "") -> Iterator[Version]:
        """Every version of every object whose name begins with ``prefix``, in order of name."""

    def fetch(self, key: str, version: str | None = None) -> Fetched | None:
        """An object, or one version of it, with its metadata."""

    def replace(
        self, key: str, body: bytes, metadata: Mapping[str, str], etag: str, kind: str = ...
    ) -> bool:
        """Put another object in the place of the very one that ``etag`` is of."""

    def remove_versions(self, versions: Sequence[Version]) -> None:
        """Remove versions for good."""
