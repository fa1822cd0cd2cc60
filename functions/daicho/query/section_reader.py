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
from daicho.layout.base_item import get_version
from daicho.layout.sections import (
    Manifest,
    Section,
    TornError,
    join_pieces,
    render_section_key,
    render_sections_partition,
)
from daicho.runtime.retry import RetryBudget
from daicho.storage import keys
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey, get_key
from daicho.storage.requests import Query
from daicho.storage.table import Table

READ_RETRY_S = 8.0
"""How long a document is read that changes all the time."""
PAUSE = 0.1
"""Seconds at most before what others are ahead of is tried again: changes take hundredths."""
MAX_CATCH_UPS = 50


@dataclass(frozen=True)
class SectionsRead:
    """A document: its head, and its sections in order. None stands in a head from before."""

    head: Image
    manifest: Manifest
    sections: dict[str, Section]

    def get_values(self) -> dict[str, Any]:
        """The sections' values by name, in order."""
        return {name: json.loads(each.text) for name, each in self.sections.items()}


@dataclass(frozen=True)
class SectionReader:
    """Reads the sections of heads."""

    table: Table

    def read_document(self, head: Image, entity: str) -> SectionsRead | Image | None:
        """A document as it was at one moment; its head alone if the sections stand in it still.

        None if it was deleted meanwhile.

        Raises:
            ThrottledError: it has changed all the time, for 8 seconds.
        """
        key, now = get_key(head), head
        partition = render_sections_partition(key, entity)
        for _ in RetryBudget.for_seconds(READ_RETRY_S, longest=PAUSE).count_attempts():
            manifest = Manifest.from_image(now)
            if manifest is None:
                return now
            items = dict(self._read_items(partition, keys.render_prefix(manifest.epoch)))
            newest, exact = self._catch_up(partition, now, items)
            if exact and newest is not None:
                latest = Manifest.from_image(newest)
                return SectionsRead(newest, latest or manifest, join_pieces(items.values()))
            if newest is None:
                return None
            now = newest
        raise ThrottledError(f"{key} changes all the time")

    def read_section(
        self, head: Image, entity: str, name: str
    ) -> tuple[Image, Section | None] | None:
        """One section, None if there is none, with the head it is of; None without a head.

        The manifest of that head must not be None.
        """
        key, now = get_key(head), head
        partition = render_sections_partition(key, entity)
        for _ in RetryBudget.for_seconds(READ_RETRY_S, longest=PAUSE).count_attempts():
            manifest = Manifest.from_image(now)
            if manifest is None:
                return now, None
            place = render_section_key(partition, manifest.epoch, name)
            items, is_torn = (item for _, item in self._read_items(partition, place.sk)), False
            try:
                found = join_pieces(items).get(name)
            except TornError:
                found, is_torn = None, True
            if found is not None:
                return now, found
            # It is not there: or all that was there has been replaced since the head was read.
            newest = self.table.get(key, consistent=True)
            if newest is None:
                return None
            if not is_torn and _read_epoch(newest) == manifest.epoch:
                return newest, None
            now = newest
        raise ThrottledError(f"{key} changes all the time")

    def _catch_up(
        self, partition: str, head: Image, items: dict[ItemKey, Image]
    ) -> tuple[Image | None, bool]:
        """Bring ``items``, read after ``head``, up to a newer one; False if that cannot be."""
        key, known = get_key(head), get_version(head)
        newest: Image | None = head
        for _ in range(MAX_CATCH_UPS):
            newest = self.table.get(key, consistent=True)
            manifest = None if newest is None else Manifest.from_image(newest)
            if newest is None or manifest is None or manifest.epoch != _read_epoch(head):
                return newest, False
            changed = manifest.list_changed_since(known)
            if changed is None:
                return newest, False
            if not changed:
                return newest, True
            known = get_version(newest)
            for name in changed:
                place = render_section_key(partition, manifest.epoch, name)
                for old in [each for each in items if each.sk.startswith(place.sk)]:
                    del items[old]
                items.update(self._read_items(partition, place.sk))
        return newest, False

    def _read_items(self, partition: str, prefix: str) -> Iterator[tuple[ItemKey, Image]]:
        for page in self.table.query_pages(Query(partition, prefix=prefix, consistent=True)):
            for item in page.items:
                yield get_key(item), item


def _read_epoch(head: Image) -> str:
    manifest = Manifest.from_image(head)
    return "" if manifest is None else manifest.epoch
