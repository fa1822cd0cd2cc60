"""Writing what is split, as a whole: seen at once, or not at all.

A whole put writes its sections under a fresh epoch, where nobody looks, as many requests as it
takes; then the head is turned to that epoch in one conditional write, and the sections of the
epoch before are removed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from daicho.declare.entity import Entity
from daicho.declare.fields import new_id
from daicho.declare.queries import ItemRef
from daicho.declare.split import attach_manifest, find_split, get_manifest
from daicho.layout.sections import Manifest, build_piece_items, split_into_sections, start_manifest
from daicho.storage import keys
from daicho.write.section_staging import SectionStaging
from daicho.write.transaction import Transaction

E = TypeVar("E", bound=Entity)


@dataclass(frozen=True)
class DocumentWriter:
    """Writes and removes split items, each as a whole."""

    staging: SectionStaging

    def create(self, item: E) -> E:
        """See `Book.create`; what it gives has no sections."""
        return self.write(item, lambda transaction, head: transaction.create(head))

    def put(self, item: E, *, if_match: int | None, if_none_match: bool = False) -> E:
        """See `Book.put`; what it gives has no sections."""
        return self.write(
            item,
            lambda transaction, head: transaction.put(
                head, if_match=if_match, if_none_match=if_none_match
            ),
        )

    def write(self, item: E, write: Callable[[Transaction, E], E]) -> E:
        """Write sections, and the head as ``write`` does."""
        entity, held, staging = type(item), find_split(type(item)), self.staging
        sections = split_into_sections(getattr(item, held.name), held.name)
        one = ItemRef(
            entity, tuple(getattr(item, name) for name in staging.list_key_fields(entity))
        )
        epoch, staged = new_id(), False

        def attempt() -> E:
            nonlocal staged
            with staging.writer.transaction() as transaction:
                there = transaction.find(one)
                version = 0 if there is None else there.version
                head = attach_manifest(item, start_manifest(epoch, version + 1, sections))
                written = write(transaction, head)
                partition = staging.render_partition(one)
                if not staged:  # nothing stands in the way of it but others who are faster
                    cuts = (
                        build_piece_items(partition, epoch, each, new_id()) for each in sections
                    )
                    staging.write_pieces(
                        partition, epoch, (item for items in cuts for item in items)
                    )
                    staged = True
                transaction.add([staging.build_due_mark(partition, epoch)])
            before = None if there is None else get_manifest(there)
            staging.remove_pieces(partition, epoch, _render_prefix(before))
            return written

        return staging.retry_race(attempt)

    def delete(self, one: ItemRef[E], *, if_match: int | None) -> None:
        """See `Book.delete`."""
        staging = self.staging

        def attempt() -> None:
            name = new_id()
            with staging.writer.transaction() as transaction:
                there = transaction.get(one)
                transaction.remove(one, if_match=if_match)
                partition = staging.render_partition(one)
                transaction.add([staging.build_due_mark(partition, name)])
            staging.remove_pieces(partition, name, _render_prefix(get_manifest(there)))

        staging.retry_race(attempt)


def _render_prefix(before: Manifest | None) -> str | None:
    """What the keys of the sections begin with that a head has named before."""
    return None if before is None else keys.render_prefix(before.epoch)
