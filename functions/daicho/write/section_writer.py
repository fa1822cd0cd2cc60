"""Writes split items section by section.

A change of a section is a transaction of the section's item and the head, whose version rises. It
is refused, and retried, if any part of the document has changed since it was read. So all changes
of a document are sequential, in the order of its versions. This also applies to several changes in
one transaction: the head is written once, in its state after the last change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, TypeVar

from daicho.declare.entity import Entity
from daicho.declare.fields import new_id
from daicho.declare.queries import SectionRef
from daicho.declare.results import SectionValue
from daicho.declare.split import attach_sections, require_split_field
from daicho.errors import Invalid, Raced
from daicho.items import mapper
from daicho.items.section_values import dump_section
from daicho.layout import base_item, sections
from daicho.layout.sections import Manifest, Section
from daicho.query.key_resolver import build_not_found, build_section_not_found
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes, keys
from daicho.storage.attributes import AttributeValue, Image, ItemKey, get_key
from daicho.storage.requests import Delete, Put, Write
from daicho.write import conditions, field_changes
from daicho.write.document_writer import DocumentWriter
from daicho.write.refusals import CHANGED_MEANWHILE, check_version
from daicho.write.section_staging import SectionStaging

E = TypeVar("E", bound=Entity)

REMOVED: Any = object()
"""Replaces a section's value where the section is removed."""
SECTION_HEADER = "section"
"""The name of the field in a refusal of a section's name."""


@dataclass(frozen=True)
class SectionChange:
    """The result of a transaction for a section: its first item, which counts, and its value.

    Both are None if the transaction removes the section.
    """

    first: Image | None
    value: SectionValue | None


@dataclass(frozen=True)
class DocumentState:
    """A document whose sections are changed: its head as it was read, and its new state."""

    head: Image
    partition: str
    version: int
    manifest: Manifest
    changes: Mapping[str, SectionChange] = field(default_factory=dict)


@dataclass(frozen=True)
class SectionWriter:
    """Changes single sections of a tenant's split items."""

    staging: SectionStaging

    def find_changed_document(self, key: ItemKey | None) -> DocumentState | None:
        """The state of a document in the open transaction, if that changes sections of it."""
        transaction = self.staging.writer.open_transaction
        return None if transaction is None or key is None else transaction.section_changes.get(key)

    def put(self, ref: SectionRef[E], value: Any, *, if_match: int | None) -> SectionValue:
        """See `Book.put_section`."""
        name, field_name = ref.name, require_split_field(ref.entity).name
        sections.check_name(name, SECTION_HEADER)
        new = sections.make_section(name, dump_section(ref.entity, value), 0, field_name)
        piece, staged_epoch = "", ""

        def attempt() -> SectionValue:
            nonlocal piece, staged_epoch
            document = self._read_document(ref, if_match)
            if isinstance(document, Entity):
                return self._stage_section(ref, document, value)
            old = self._read_first(ref, document, if_match)
            place = attributes.get_integer(old or {}, "place")
            version = document.version + 1
            if place is None:  # after all others
                place = sections.MAX_SECTIONS + version
            section = Section(name, new.text, place, version)
            added_count = 0 if old else 1
            added_weight = section.weight - (sections.measure_weight(old) if old else 0)
            _check_room(document.manifest, added_count, added_weight, field_name)
            if added_weight > 0:
                grown = document.manifest.with_change(version, name, added_count, added_weight)
                self.staging.check_document(document.partition, grown, field_name)
            epoch = document.manifest.epoch
            if staged_epoch != epoch:  # pieces belong to an epoch: those of an earlier one are lost
                piece = new_id()
            first, *pieces = sections.build_piece_items(document.partition, epoch, section, piece)
            if pieces and staged_epoch != epoch:
                self.staging.write_pieces(document.partition, piece, pieces)
                staged_epoch = epoch
            manifest = document.manifest.with_change(version, name, added_count, added_weight)
            change = SectionChange(first, SectionValue(value, version))
            self._commit(document, manifest, name, change, old, piece if pieces else None)
            return SectionValue(value, version, new=not old)

        return self.staging.retry_race(attempt)

    def remove(self, section: SectionRef[E], *, if_match: int | None) -> int:
        """See `Book.remove_section`."""
        name = section.name
        sections.check_name(name, SECTION_HEADER)

        def attempt() -> int:
            document = self._read_document(section, if_match)
            if isinstance(document, Entity):
                return self._stage_section(section, document, REMOVED).version
            old = self._read_first(section, document, if_match)
            if old is None:
                raise build_section_not_found(section)
            version = document.version + 1
            manifest = document.manifest.with_change(
                version, name, -1, -sections.measure_weight(old)
            )
            self._commit(document, manifest, name, SectionChange(None, None), old, None)
            return version

        return self.staging.retry_race(attempt)

    def _stage_section(self, section: SectionRef[Any], item: Entity, value: Any) -> SectionValue:
        """Split an item that was stored as a whole, with one section changed."""
        values: dict[str, Any] = getattr(item, require_split_field(section.entity).name)
        new = section.name not in values
        if value is REMOVED and new:
            raise build_section_not_found(section)
        changed = {**values, section.name: value}
        if value is REMOVED:
            del changed[section.name]
        version = item.version
        with self.staging.writer.access.suspend():  # the write is checked, and the owner is kept
            DocumentWriter(self.staging).put(attach_sections(item, changed), if_match=version)
        return SectionValue(value, version + 1, new=new)

    def _read_document(self, section: SectionRef[E], if_match: int | None) -> DocumentState | E:
        """A document as the open transaction leaves it, or as it is stored.

        For an item that was written before it was split, return the whole item instead.
        """
        writer = self.staging.writer
        key = writer.key_resolver.resolve_key(section.item)
        document = self.find_changed_document(key)
        if document is not None:
            return document
        writer.check_sections_unchanged(key)
        head = None if key is None else writer.key_resolver.find_image(key)
        if key is None or head is None:
            raise build_not_found(section.item)
        writer.access.check_write(section.item, head)
        manifest = Manifest.from_image(head)
        if manifest is None:
            item = mapper.to_item(section.entity, head, writer.planner.ledger)
            values = getattr(item, require_split_field(section.entity).name)
            check_version(item.version if section.name in values else None, if_match, "section")
            return item
        partition = sections.render_sections_partition(key, section.entity.__name__)
        return DocumentState(head, partition, base_item.get_version(head), manifest)

    def _read_first(
        self, section: SectionRef[Any], document: DocumentState, if_match: int | None
    ) -> Image | None:
        """The first item of a section, checked to be of the version that a caller expects."""
        manifest = document.manifest
        if section.name in document.changes:
            first = document.changes[section.name].first
        else:
            place = sections.render_section_key(document.partition, manifest.epoch, section.name)
            first = self.staging.writer.table.get(place, consistent=True)
            if first is None:
                # The whole document may have been replaced since the head was read.
                newest = self.staging.writer.table.get(get_key(document.head), consistent=True)
                later = None if newest is None else Manifest.from_image(newest)
                if later is None or later.epoch != manifest.epoch:
                    raise Raced(CHANGED_MEANWHILE)
        changed = None if first is None else attributes.get_integer(first, "changed")
        version = None if first is None else changed or manifest.began
        check_version(version, if_match, "section")
        return first

    def _commit(
        self,
        document: DocumentState,
        manifest: Manifest,
        name: str,
        change: SectionChange,
        old: Image | None,
        piece: str | None,
    ) -> None:
        """Write one section and the head, with the version after the one that was read.

        ``old`` is the first item of the section as it was read. ``piece`` names the parts of the
        section that are separate items.
        """
        head, partition, version = document.head, document.partition, document.version + 1
        values: dict[str, AttributeValue] = {
            "version": {"N": str(version)},
            sections.MANIFEST: manifest.to_value(),
        }
        field_changes.check_size({**head, **values})
        write = conditions.if_unchanged(head)
        for attribute, value in values.items():
            separator = ", " if write.update else "SET "
            write.update += f"{separator}{write.add_name(attribute)} = {write.add_value(value)}"
        writes: list[Write] = [write.to_update(get_key(head))]
        if change.first is not None:
            writes.append(Put(change.first))
        elif old is not None:
            writes.append(Delete(get_key(old)))
        old_piece = None if old is None else attributes.get_text(old, "piece")
        # Not the name of the old pieces: their writer may still remove its own mark.
        mark = piece or (new_id() if old_piece else None)
        if mark is not None:
            writes.append(self.staging.build_due_mark(partition, mark))
        state = DocumentState(
            head, partition, version, manifest, {**document.changes, name: change}
        )
        with self.staging.writer.transaction() as transaction:
            transaction.stage_sections(get_key(head), writes, state)
        if mark is not None:
            prefix = get_key(old).sk + keys.render_prefix(old_piece) if old and old_piece else None
            self.staging.remove_piece(partition, mark, prefix)


def _check_room(manifest: Manifest, added_count: int, added_weight: int, field_name: str) -> None:
    if added_count and manifest.count >= sections.MAX_SECTIONS:
        message = f"has {manifest.count} sections; at most {sections.MAX_SECTIONS}"
        raise Invalid(message, field=field_name)
    if added_weight > 0:
        sections.check_weight(manifest.weight + added_weight, field_name)
