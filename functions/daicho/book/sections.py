"""Reads the sections of one tenant's split items, for a `Book`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

from daicho.declare.entity import Entity
from daicho.declare.queries import SectionRef
from daicho.declare.results import SectionValue
from daicho.declare.split import attach_sections
from daicho.items.mapper import UNREADABLE, explain_unreadable, to_item
from daicho.items.section_values import read_section
from daicho.layout.sections import Manifest, check_name
from daicho.query.access import Access
from daicho.query.key_resolver import KeyResolver, build_not_found
from daicho.query.section_reader import SectionsRead, read_document, read_stored_section
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage.attributes import Image, get_key
from daicho.storage.table import Table
from daicho.write.section_writer import SECTION_HEADER
from daicho.write.transaction import Transaction

E = TypeVar("E", bound=Entity)


@dataclass(frozen=True)
class BookSections:
    """The sections as they are stored, or as the open transaction leaves them.

    ``get_transaction`` gives the open transaction, None without one.
    """

    table: Table
    key_resolver: KeyResolver
    get_transaction: Callable[[], Transaction | None]
    access: Access

    def read_item(self, entity: type[E], head: Image) -> E | None:
        """A split item with its sections, as it was at one moment; None if it was deleted since."""
        transaction = self.get_transaction()
        if transaction is not None:
            transaction.check_sections_unchanged(get_key(head))
        try:
            document = read_document(self.table, head, entity.__name__)
            if isinstance(document, SectionsRead):
                item = to_item(entity, document.head, self.key_resolver.ledger)
                values = document.get_values().items()
                read = {name: read_section(entity, value) for name, value in values}
                return attach_sections(item, read)
        except UNREADABLE as error:
            raise explain_unreadable(entity, head, error) from error
        return None if document is None else to_item(entity, document, self.key_resolver.ledger)

    def find_section(self, ref: SectionRef[Any]) -> SectionValue | None:
        """See `Book.find_section`."""
        check_name(ref.name, SECTION_HEADER)
        item_ref, entity = ref.item, ref.entity
        key = self.key_resolver.resolve_key(item_ref)
        transaction = self.get_transaction()
        if transaction is not None and key is not None:
            document = transaction.section_changes.get(key)
            if document is None:
                transaction.check_sections_unchanged(key)
            elif ref.name in document.changes:
                changed: SectionValue | None = document.changes[ref.name].value
                return changed
        head = None if key is None else self.table.get(key, consistent=True)
        if head is None or entity.split_field_ is None or not self.access.may_read(entity, head):
            raise build_not_found(item_ref)
        if Manifest.from_image(head) is None:  # written before the field was split
            return _find_unsplit(ref, to_item(entity, head, self.key_resolver.ledger))
        pair = read_stored_section(self.table, head, entity.__name__, ref.name)
        if pair is None:
            raise build_not_found(item_ref)
        newest, section = pair
        if section is None:
            return None
        manifest = Manifest.from_image(newest)
        began = 0 if manifest is None else manifest.began
        try:
            value = read_section(entity, json.loads(section.text))
        except UNREADABLE as error:
            raise explain_unreadable(entity, newest, error) from error
        return SectionValue(value, section.changed or began)


def _find_unsplit(ref: SectionRef[Any], item: Entity) -> SectionValue | None:
    """A section of an item that is stored as a whole."""
    split_field = ref.entity.split_field_
    values: dict[str, Any] = getattr(item, split_field.name) if split_field is not None else {}
    return SectionValue(values[ref.name], item.version) if ref.name in values else None
