"""What parts of the library need of the table, method by method.

Each part says in its own ``Store`` what it needs, put together of these: infrastructure grants just
that, and a test stands in with no more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, Protocol

from daicho.derive.derived_items import ItemKey
from daicho.errors import ConditionFailedError
from daicho.storage.attributes import AttributeValue, Image
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
