"""Sections and objects of items, as domains read and write them: a part of the `Book`."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from daicho.declare.entity import Entity
from daicho.declare.queries import OneSection
from daicho.declare.results import Held
from daicho.declare.split import split_of, with_sections
from daicho.declare.stored_objects import Place
from daicho.errors import NotFound
from daicho.items.mapper import item_of
from daicho.layout.sections import Manifest, check_name
from daicho.query.key_resolver import described
from daicho.query.section_reader import Found, SplitReader
from daicho.storage.attributes import Image
from daicho.storage.item_key import key_of
from daicho.storage.table import Table
from daicho.write.document_writer import SplitWriter
from daicho.write.item_writer import Writer
from daicho.write.object_writer import Objects
from daicho.write.section_staging import Staging
from daicho.write.section_writer import SECTION, SectionWriter

E = TypeVar("E", bound=Entity)


@dataclass(frozen=True)
class Splits:
    """Reads and writes what is split of a tenant's items."""

    reader: SplitReader
    writer: SplitWriter
    sections: SectionWriter

    @classmethod
    def of(
        cls, table: Table, writer: Writer, clock: Callable[[], dt.datetime], at_once: int
    ) -> Splits:
        """For the items that ``writer`` writes."""
        staging = Staging(table, writer, clock, at_once)
        return cls(SplitReader(table), SplitWriter(staging), SectionWriter(staging))

    def whole(self, entity: type[E], head: Image) -> E | None:
        """An item with its sections, as it was at one moment; None if it was deleted meanwhile."""
        if split_of(entity) is None:
            return item_of(entity, head)
        self.writer.staging.writer.check_apart(key_of(head))
        found = self.reader.whole(head, entity.__name__)
        if isinstance(found, Found):
            return with_sections(item_of(entity, found.head), found.values())
        return None if found is None else item_of(entity, found)


class Sections:
    """What a `Book` has to say of what stands beside items: sections, and objects in S3."""

    _splits: Splits
    _objects: Objects
    _writer: Writer

    def find_section(self, asked: OneSection[Any]) -> Held | None:
        """One section (``Document.split(id, section="summary")``), or None.

        Raises:
            NotFound: there is no such item.
        """
        check_name(asked.name, SECTION)
        one, entity = asked.one, asked.entity
        key = self._writer.places.key(one)
        changed = self._splits.sections.changed(key)
        if changed is not None and asked.name in changed.changes:
            return changed.changes[asked.name].held
        if changed is None:
            self._writer.check_apart(key)
        head = None if key is None else self._writer.table.get(key, consistent=True)
        if head is None or split_of(entity) is None:
            raise NotFound(f"no {described(one)}")
        if Manifest.of(head) is None:  # it was written before it was split
            return self._held_inside(asked, item_of(entity, head))
        found = self._splits.reader.section(head, entity.__name__, asked.name)
        if found is None:
            raise NotFound(f"no {described(one)}")
        newest, section = found
        if section is None:
            return None
        manifest = Manifest.of(newest)
        began = 0 if manifest is None else manifest.began
        return Held(json.loads(section.text), section.changed or began)

    def section(self, asked: OneSection[Any]) -> Held:
        """One section.

        Raises:
            NotFound: there is no such item, or it has no such section.
        """
        found = self.find_section(asked)
        if found is None:
            raise NotFound(f"no section {asked.name!r} in {described(asked.one)}")
        return found

    def put_section(
        self, asked: OneSection[Any], value: Any, *, if_match: int | None = None
    ) -> Held:
        """Create or replace one section, and no other.

        Its item becomes of the next version: of two who change it at once, or two of its sections,
        one comes after the other and neither is lost. A new section comes last.

        Raises:
            NotFound: there is no such item.
            PreconditionFailed: the section is not of version ``if_match``.
            Invalid: it cannot be stored, or there is no room for it.
            Raced: others change the item all the time.
        """
        return self._splits.sections.put(asked, value, if_match=if_match)

    def remove_section(self, asked: OneSection[Any], *, if_match: int | None = None) -> int:
        """Remove one section; its item's version then.

        Raises:
            NotFound: there is no such item, or it has no such section.
            PreconditionFailed, Raced: as in `put_section`.
        """
        return self._splits.sections.remove(asked, if_match=if_match)

    def upload(self, item: Entity, field: str) -> Place:
        """Where the object of an item is to be put: a signed request, good once for 15 minutes."""
        return self._objects.upload(item, field)

    def download(self, item: Entity, field: str) -> Place:
        """Where the object of an item is to be had: a signed request, good for an hour."""
        return self._objects.download(item, field)

    def _writing(self, entity: type[Entity]) -> Writer | SplitWriter:
        return self._writer if split_of(entity) is None else self._splits.writer

    def _held_inside(self, asked: OneSection[Any], item: Entity) -> Held | None:
        held = split_of(asked.entity)
        values: dict[str, Any] = getattr(item, held.name) if held is not None else {}
        return Held(values[asked.name], item.version) if asked.name in values else None
