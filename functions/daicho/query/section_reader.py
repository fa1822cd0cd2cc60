"""Reading what is split: a document as it was at one moment, and single sections.

A query is no snapshot, and a document may take several. So the head is read before the sections
and after them: nothing has changed if it is of the same version. If sections have, it names them,
and only they are read again, until a head shows that none has since. All reads are consistent.

Why that is a state that there was: every value read was written at a version that a later head
has passed. At the end, each section has been read after the last change of it that the head knows
of, and the head was read after all of them; so together they are what that version of the
document was.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from daicho.errors import ThrottledError
from daicho.layout.base_item import version_of
from daicho.layout.sections import (
    Manifest,
    Section,
    TornError,
    joined,
    key_of_section,
    partition_of,
)
from daicho.runtime.retry import Patience
from daicho.storage import keys
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey, key_of
from daicho.storage.requests import Query
from daicho.storage.table import Table

READ_SECONDS = 8.0
"""How long a document is read that changes all the time."""
PAUSE = 0.1
"""Seconds at most before what others are ahead of is tried again: changes take hundredths."""
CATCH_UPS = 50


@dataclass(frozen=True)
class Found:
    """A document: its head, and its sections in order. None stands in a head from before."""

    head: Image
    manifest: Manifest
    sections: dict[str, Section]

    def values(self) -> dict[str, Any]:
        """The sections' values by name, in order."""
        return {name: json.loads(each.text) for name, each in self.sections.items()}


@dataclass(frozen=True)
class SplitReader:
    """Reads the sections of heads."""

    table: Table

    def whole(self, head: Image, entity: str) -> Found | Image | None:
        """A document as it was at one moment; its head alone if the sections stand in it still.

        None if it was deleted meanwhile.

        Raises:
            ThrottledError: it has changed all the time, for 8 seconds.
        """
        key, now = key_of(head), head
        partition = partition_of(key, entity)
        for _ in Patience.seconds(READ_SECONDS, longest=PAUSE).attempts():
            manifest = Manifest.of(now)
            if manifest is None:
                return now
            items = dict(self._items(partition, keys.prefix(manifest.epoch)))
            newest, exact = self._caught_up(partition, now, items)
            if exact and newest is not None:
                latest = Manifest.of(newest)
                return Found(newest, latest or manifest, joined(items.values()))
            if newest is None:
                return None
            now = newest
        raise ThrottledError(f"{key} changes all the time")

    def section(self, head: Image, entity: str, name: str) -> tuple[Image, Section | None] | None:
        """One section, None if there is none, with the head it is of; None without a head.

        The manifest of that head must not be None.
        """
        key, now = key_of(head), head
        partition = partition_of(key, entity)
        for _ in Patience.seconds(READ_SECONDS, longest=PAUSE).attempts():
            manifest = Manifest.of(now)
            if manifest is None:
                return now, None
            place = key_of_section(partition, manifest.epoch, name)
            items, is_torn = (item for _, item in self._items(partition, place.sk)), False
            try:
                found = joined(items).get(name)
            except TornError:
                found, is_torn = None, True
            if found is not None:
                return now, found
            # It is not there: or all that was there has been replaced since the head was read.
            newest = self.table.get(key, consistent=True)
            if newest is None:
                return None
            if not is_torn and _epoch(newest) == manifest.epoch:
                return newest, None
            now = newest
        raise ThrottledError(f"{key} changes all the time")

    def _caught_up(
        self, partition: str, head: Image, items: dict[ItemKey, Image]
    ) -> tuple[Image | None, bool]:
        """Bring ``items``, read after ``head``, up to a newer one; False if that cannot be."""
        key, known = key_of(head), version_of(head)
        newest: Image | None = head
        for _ in range(CATCH_UPS):
            newest = self.table.get(key, consistent=True)
            manifest = None if newest is None else Manifest.of(newest)
            if newest is None or manifest is None or manifest.epoch != _epoch(head):
                return newest, False
            changed = manifest.changed_since(known)
            if changed is None:
                return newest, False
            if not changed:
                return newest, True
            known = version_of(newest)
            for name in changed:
                place = key_of_section(partition, manifest.epoch, name)
                for old in [each for each in items if each.sk.startswith(place.sk)]:
                    del items[old]
                items.update(self._items(partition, place.sk))
        return newest, False

    def _items(self, partition: str, prefix: str) -> Iterator[tuple[ItemKey, Image]]:
        for page in self.table.pages(Query(partition, prefix=prefix, consistent=True)):
            for item in page.items:
                yield key_of(item), item


def _epoch(head: Image) -> str:
    manifest = Manifest.of(head)
    return "" if manifest is None else manifest.epoch
