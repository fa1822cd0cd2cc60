"""Reads split documents: a document as it was at one moment, and single sections.

A query is no snapshot, and a document may need several queries. So the head is read before and
after the sections. If both heads have the same version, nothing has changed. If sections have
changed, the newer head names them, and only these are read again. This repeats until a head shows
no further change. All reads are consistent.

The result is a state that existed. Every value was written at a version that a later head has
passed. At the end, each section was read after its last change that the head contains, and the
head was read after all sections. So the sections together are that version of the document.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from daicho.errors import ThrottledError, UnreadableError
from daicho.layout.base_item import get_version
from daicho.layout.sections import (
    MANIFEST,
    Manifest,
    Section,
    TornError,
    join_pieces,
    measure_stored,
    render_section_key,
    render_sections_partition,
)
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.retry import RetryBudget
from daicho.storage import keys
from daicho.storage.attributes import Image, ItemKey, get_key
from daicho.storage.requests import Query
from daicho.storage.table import Table

READ_RETRY_S = 8.0
"""The time limit for reads of a document that changes all the time."""
MAX_PAUSE_S = 0.1
"""The longest pause before the next attempt: a change takes hundredths."""
MAX_CATCH_UPS = 50


@dataclass(frozen=True)
class SectionsRead:
    """A document: its head, and its sections in order. The head contains no section itself."""

    head: Image
    manifest: Manifest
    sections: dict[str, Section]

    def get_values(self) -> dict[str, Any]:
        """The sections' values by name, in order."""
        return {name: json.loads(section.text) for name, section in self.sections.items()}


def read_document(table: Table, head: Image, entity: str) -> SectionsRead | Image | None:
    """A document as it was at one moment; its head alone if that still contains the sections.

    None if it was deleted meanwhile.

    Raises:
        ThrottledError: the document has changed all the time, for 8 seconds.
        UnreadableError: its sections are not those that its head counts, twice without a change.
        ExceedsBounds: one request may not read so much: its sections can be read one by one.
    """
    key, now = get_key(head), head
    partition = render_sections_partition(key, entity)
    doubted: Image | None = None
    for _ in RetryBudget.for_seconds(READ_RETRY_S, longest=MAX_PAUSE_S).count_attempts():
        manifest = Manifest.from_image(now)
        if manifest is None:
            return now
        stored = measure_stored(manifest.count, manifest.weight, partition)
        table.budget.check_read(stored, MANIFEST)
        items = dict(_read_items(table, partition, keys.render_prefix(manifest.epoch)))
        newest, exact = _catch_up(table, partition, now, items)
        if exact and newest is not None:
            latest = Manifest.from_image(newest) or manifest
            try:
                return SectionsRead(newest, latest, latest.join_whole(items.values()))
            except TornError as error:
                if newest == doubted:
                    raise UnreadableError(entity, str(error), MANIFEST) from error
                doubted = newest
        if newest is None:
            return None
        now = newest
    raise ThrottledError(f"{key} changes all the time")


def read_stored_section(
    table: Table, head: Image, entity: str, name: str
) -> tuple[Image, Section | None] | None:
    """One section, or None if it does not exist, with its head; None without a head.

    The manifest of that head must not be None.

    Raises:
        ThrottledError: the document has changed all the time, for 8 seconds.
        UnreadableError: the section is not whole, twice without a change.
    """
    doubted: Image | None = None
    key, now = get_key(head), head
    partition = render_sections_partition(key, entity)
    for _ in RetryBudget.for_seconds(READ_RETRY_S, longest=MAX_PAUSE_S).count_attempts():
        manifest = Manifest.from_image(now)
        if manifest is None:
            return now, None
        place = render_section_key(partition, manifest.epoch, name)
        items, is_torn = (item for _, item in _read_items(table, partition, place.sk)), False
        try:
            section = join_pieces(items).get(name)
        except TornError:
            section, is_torn = None, True
        if section is not None:
            return now, section
        # The section does not exist, or its items were replaced after the read of the head.
        newest = table.get(key, consistent=True)
        if newest is None:
            return None
        if not is_torn and _read_epoch(newest) == manifest.epoch:
            return newest, None
        if is_torn and newest == now == doubted:
            raise UnreadableError(entity, f"section {name} is not whole", MANIFEST)
        now = doubted = newest
    raise ThrottledError(f"{key} changes all the time")


def _catch_up(
    table: Table, partition: str, head: Image, items: dict[ItemKey, Image]
) -> tuple[Image | None, bool]:
    """Update ``items``, read after ``head``, to a newer head; False if that is impossible."""
    key, version = get_key(head), get_version(head)
    newest: Image | None = head
    for _ in range(MAX_CATCH_UPS):
        newest = table.get(key, consistent=True)
        manifest = None if newest is None else Manifest.from_image(newest)
        if newest is None or manifest is None or manifest.epoch != _read_epoch(head):
            return newest, False
        changed = manifest.list_changed_since(version)
        if changed is None:
            return newest, False
        if not changed:
            return newest, True
        version = get_version(newest)
        for name in changed:
            place = render_section_key(partition, manifest.epoch, name)
            for old in [piece_key for piece_key in items if piece_key.sk.startswith(place.sk)]:
                del items[old]
            items.update(_read_items(table, partition, place.sk))
    return newest, False


def _read_items(table: Table, partition: str, prefix: str) -> Iterator[tuple[ItemKey, Image]]:
    for page in table.query_pages(Query(partition, prefix=prefix, consistent=True)):
        for item in page.items:
            yield get_key(item), item


def _read_epoch(head: Image) -> str:
    manifest = Manifest.from_image(head)
    return "" if manifest is None else manifest.epoch
