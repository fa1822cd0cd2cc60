"""Writes split items as a whole: readers see the complete change or none of it.

A whole put writes its sections under a new epoch that no reader uses yet, in as many requests as
it needs. Then one conditional write points the head to that epoch, and the sections of the
previous epoch are removed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from daicho.declare.entity import Entity
from daicho.declare.fields import new_id
from daicho.declare.queries import ItemRef
from daicho.declare.split import attach_manifest, get_manifest, require_split_field
from daicho.items.section_values import dump_section
from daicho.layout.sections import build_piece_items, split_into_sections, start_manifest
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.write.section_staging import SectionStaging
from daicho.write.transaction import Transaction

E = TypeVar("E", bound=Entity)


@dataclass(frozen=True)
class DocumentWriter:
    """Writes and removes split items, each as a whole."""

    staging: SectionStaging

    def create(self, item: E) -> E:
        """See `Book.create`; the returned item has no sections."""
        return self._write(item, lambda transaction, head: transaction.create(head))

    def put(self, item: E, *, if_match: int | str | None, if_none_match: bool = False) -> E:
        """See `Book.put`; the returned item has no sections."""
        return self._write(
            item,
            lambda transaction, head: transaction.put(
                head, if_match=if_match, if_none_match=if_none_match
            ),
        )

    def _write(self, item: E, write_head: Callable[[Transaction, E], E]) -> E:
        """Write the sections, and the head by calling ``write_head``."""
        self.staging.writer.access.assign_owner(item)
        entity, split_field, staging = type(item), require_split_field(type(item)), self.staging
        values = getattr(item, split_field.name).items()
        plain = {name: dump_section(entity, value) for name, value in values}
        sections = split_into_sections(plain, split_field.name)
        ref = ItemRef(
            entity, tuple(getattr(item, name) for name in staging.list_key_fields(entity))
        )
        epoch, is_staged = new_id(), False
        whole = start_manifest(epoch, 1, sections)
        staging.check_document(staging.render_partition(ref), whole, split_field.name)

        def attempt() -> E:
            nonlocal is_staged
            with staging.writer.transaction() as transaction:
                existing = transaction.find(ref)
                version = 0 if existing is None else existing.version
                head = attach_manifest(item, start_manifest(epoch, version + 1, sections))
                stored = write_head(transaction, head)
                partition = staging.render_partition(ref)
                if not is_staged:  # only a faster writer can still prevent the change
                    pieces = (
                        build_piece_items(partition, epoch, section, new_id())
                        for section in sections
                    )
                    staging.write_pieces(
                        partition, epoch, (item for items in pieces for item in items)
                    )
                    is_staged = True
                transaction.add([staging.build_due_mark(partition, epoch)])
            old = None if existing is None else get_manifest(existing)
            staging.remove_pieces(partition, epoch, old)
            return stored

        return staging.retry_race(attempt)

    def delete(self, ref: ItemRef[E], *, if_match: int | str | None) -> None:
        """See `Book.delete`."""
        staging = self.staging

        def attempt() -> None:
            name = new_id()
            with staging.writer.transaction() as transaction:
                existing = transaction.get(ref)
                transaction.remove(ref, if_match=if_match)
                partition = staging.render_partition(ref)
                transaction.add([staging.build_due_mark(partition, name)])
            staging.remove_pieces(partition, name, get_manifest(existing))

        staging.retry_race(attempt)
