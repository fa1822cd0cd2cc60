"""Writing what a batch changes: derived items (EXACTNESS rule 6) and slots (rule 9).

Each write is fenced by the numbers of the records that caused it, and never goes backwards.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Protocol

from daicho.errors import ConditionFailedError, RefusedError
from daicho.layout.retention import TOMBSTONE_RETENTION
from daicho.storage import attributes
from daicho.storage.protocols import PutsItems, UpdatesItems, apply_update
from daicho.storage.requests import to_key_image
from daicho.stream.batch_fold import DerivedWrite, ProjectorWrite, SlotWrite, sum_deltas
from daicho.tally import slots


class DerivedItemTable(PutsItems, Protocol):
    """The operations of the table that writing a derived item needs."""


class BatchTable(PutsItems, UpdatesItems, Protocol):
    """The operations of the table that writing a batch needs."""


class BatchWriter:
    """Writes batches to one table. ``dirty_shards``: over how many partitions marks are spread."""

    def __init__(
        self, store: BatchTable, *, dirty_shards: int, now: Callable[[], dt.datetime]
    ) -> None:
        self._store = store
        self._dirty_shards = dirty_shards
        self._now = now

    def write(self, write: ProjectorWrite) -> None:
        """Carry out one write of a folded batch, or find it done already.

        Raises:
            StoreError: it is not known to be done.
        """
        if isinstance(write, DerivedWrite):
            write_derived_item(self._store, write, self._now())
        else:
            self._count(write)

    def _count(self, write: SlotWrite) -> None:
        """Rule 9: count all parts; a refusal shows which of them remain, until none does."""
        parts = write.parts
        while parts:
            change = slots.add_delta(
                write.key,
                sum_deltas(parts),
                parts[0].seq,
                parts[-1].seq,
                dirty_shards=self._dirty_shards,
                now=self._now(),
            )
            try:
                apply_update(self._store, change)
            except ConditionFailedError as refused:
                if refused.item is None:
                    raise RefusedError(f"{write.key}: refused, but no item exists") from None
                counted = refused.item["seq"]["S"]
                parts = tuple(part for part in parts if part.seq > counted)
            else:
                return


def write_derived_item(store: DerivedItemTable, write: DerivedWrite, now: dt.datetime) -> None:
    """Put the row, or a tombstone even where no item existed; never over an equal or newer item."""
    if write.row is None:
        item = to_key_image(write.key)
        item["ttl"] = attributes.to_value(int((now + TOMBSTONE_RETENTION).timestamp()))
    else:
        item = write.row.to_item(write.key)
    item["seq"] = {"S": write.seq}
    try:
        store.put(item, condition=f"{slots.FENCE}:seq", values={":seq": {"S": write.seq}})
    except ConditionFailedError:
        return
