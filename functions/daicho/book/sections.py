"""Sections and objects of items: the part of the `Book` with which domains use them."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from daicho.declare.entity import Entity
from daicho.declare.queries import SectionRef
from daicho.declare.results import SectionValue
from daicho.declare.split import attach_sections, find_split_field
from daicho.declare.stored_objects import SignedRequest
from daicho.errors import NotFound
from daicho.items.mapper import to_item
from daicho.layout.sections import Manifest, check_name
from daicho.query.key_resolver import display_name
from daicho.query.section_reader import SectionReader, SectionsRead
from daicho.storage.attributes import Image
from daicho.storage.item_key import get_key
from daicho.storage.table import Table
from daicho.write.document_writer import DocumentWriter
from daicho.write.item_writer import ItemWriter
from daicho.write.object_writer import ObjectWriter
from daicho.write.section_staging import SectionStaging
from daicho.write.section_writer import SECTION_HEADER, SectionWriter

E = TypeVar("E", bound=Entity)


@dataclass(frozen=True)
class SectionTools:
    """Reads and writes the split fields of a tenant's items."""

    reader: SectionReader
    writer: DocumentWriter
    sections: SectionWriter

    @classmethod
    def build(
        cls, table: Table, writer: ItemWriter, clock: Callable[[], dt.datetime], at_once: int
    ) -> SectionTools:
        """Build the tools for the items that ``writer`` writes."""
        staging = SectionStaging(table, writer, clock, at_once)
        return cls(SectionReader(table), DocumentWriter(staging), SectionWriter(staging))

    def read_item(self, entity: type[E], head: Image) -> E | None:
        """An item with its sections, as it was at one moment; None if it was deleted meanwhile."""
        if find_split_field(entity) is None:
            return to_item(entity, head)
        self.writer.staging.writer.check_sections_unchanged(get_key(head))
        document = self.reader.read_document(head, entity.__name__)
        if isinstance(document, SectionsRead):
            return attach_sections(to_item(entity, document.head), document.get_values())
        return None if document is None else to_item(entity, document)


class SectionsMixin:
    """The methods of a `Book` for the parts outside of items: sections, and objects in S3."""

    _splits: SectionTools
    _objects: ObjectWriter
    _writer: ItemWriter

    def find_section(self, ref: SectionRef[Any]) -> SectionValue | None:
        """One section (``Document.split(id, section="summary")``), or None.

        Raises:
            NotFound: there is no such item.
        """
        check_name(ref.name, SECTION_HEADER)
        one, entity = ref.item, ref.entity
        key = self._writer.places.resolve_key(one)
        changed = self._splits.sections.with_changes(key)
        if changed is not None and ref.name in changed.changes:
            return changed.changes[ref.name].held
        if changed is None:
            self._writer.check_sections_unchanged(key)
        head = None if key is None else self._writer.table.get(key, consistent=True)
        if head is None or find_split_field(entity) is None:
            raise NotFound(f"no {display_name(one)}")
        if Manifest.from_image(head) is None:  # written before the field was split
            return self._find_section(ref, to_item(entity, head))
        pair = self._splits.reader.read_section(head, entity.__name__, ref.name)
        if pair is None:
            raise NotFound(f"no {display_name(one)}")
        newest, section = pair
        if section is None:
            return None
        manifest = Manifest.from_image(newest)
        began = 0 if manifest is None else manifest.began
        return SectionValue(json.loads(section.text), section.changed or began)

    def section(self, section: SectionRef[Any]) -> SectionValue:
        """One section.

        Raises:
            NotFound: there is no such item, or it has no such section.
        """
        value = self.find_section(section)
        if value is None:
            raise NotFound(f"no section {section.name!r} in {display_name(section.item)}")
        return value

    def put_section(
        self, section: SectionRef[Any], value: Any, *, if_match: int | None = None
    ) -> SectionValue:
        """Create or replace one section, and no other.

        The item gets its next version. Two concurrent changes of the item, or of two of its
        sections, happen one after the other, and neither is lost. A new section comes last.

        Raises:
            NotFound: there is no such item.
            PreconditionFailed: the section is not of version ``if_match``.
            Invalid: it cannot be stored, or there is no room for it.
            Raced: other writers change the item all the time.
        """
        return self._splits.sections.put(section, value, if_match=if_match)

    def remove_section(self, section: SectionRef[Any], *, if_match: int | None = None) -> int:
        """Remove one section; returns the item's new version.

        Raises:
            NotFound: there is no such item, or it has no such section.
            PreconditionFailed, Raced: as in `put_section`.
        """
        return self._splits.sections.remove(section, if_match=if_match)

    def sign_upload(self, item: Entity, field: str) -> SignedRequest:
        """Sign a request that puts the object of an item: valid once, for 15 minutes."""
        return self._objects.sign_upload(item, field)

    def sign_download(self, item: Entity, field: str) -> SignedRequest:
        """Sign a request that gets the object of an item: valid for an hour."""
        return self._objects.sign_download(item, field)

    def _choose_writer(self, entity: type[Entity]) -> ItemWriter | DocumentWriter:
        return self._writer if find_split_field(entity) is None else self._splits.writer

    def _find_section(self, section: SectionRef[Any], item: Entity) -> SectionValue | None:
        held = find_split_field(section.entity)
        values: dict[str, Any] = getattr(item, held.name) if held is not None else {}
        return SectionValue(values[section.name], item.version) if section.name in values else None
