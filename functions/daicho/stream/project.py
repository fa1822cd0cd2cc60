"""The projector: keeps derived items and aggregates what their base items say they are.

Compute everything, fold, write. Each write carries the number of the record that caused it and
never goes backwards, so that any record may come again, late, out of order, or from an attempt
that was given up and still writes.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Protocol

from daicho import images
from daicho.clock import utc_now
from daicho.derive import ItemKey
from daicho.errors import ConditionFailedError, RefusedError
from daicho.images import AttributeValue, Image
from daicho.patience import Patience
from daicho.plan import Ledger
from daicho.requests import key_image
from daicho.stream.compute import compute
from daicho.stream.effort import carry_out, mapper
from daicho.stream.fold import DerivedWrite, SlotWrite, Write, fold, total
from daicho.stream.records import Batch
from daicho.tally import slots

TOMBSTONE = dt.timedelta(hours=72)
"""Retention of the stream, rounded up: no record can come later than its tombstone lives."""


class Store(Protocol):
    """What the projector needs of the table."""

    def put(
        self, item: Image, *, condition: str, values: Mapping[str, AttributeValue]
    ) -> Image | None:
        """Write a whole item if the condition holds."""

    def update(
        self,
        key: ItemKey,
        update: str,
        *,
        condition: str,
        names: Mapping[str, str],
        values: Mapping[str, AttributeValue],
    ) -> Image | None:
        """Change an item, or create it, if the condition holds."""


class Projector:
    """Carries batches out on one table. ``threads`` writes go on at once; 1 is in order."""

    def __init__(
        self,
        store: Store,
        ledger: Ledger,
        *,
        dirty_shards: int,
        threads: int = 1,
        now: Callable[[], dt.datetime] = utc_now,
    ) -> None:
        self._store = store
        self._ledger = ledger
        self._dirty_shards = dirty_shards
        self._each = mapper(threads)
        self._now = now

    def project(self, batch: Batch, patience: Patience) -> str | None:
        """Work a batch off; gives the number of the lowest record not known to be done, or None.

        Raises:
            RefusedError: DynamoDB refuses a write for good, which computing should have seen.
        """
        computed, stop = compute(batch.records, self._ledger)
        # Quarantine stands here, before anything is folded: the claims of the poison that
        # `compute` found, and the announcement that takes the shard's claims (rules 13, 14).
        left = carry_out(fold(computed), self._write, patience, self._each)
        undone = [each.lowest for each in left]
        if stop is not None:
            undone.append(stop.record.seq)
            if stop.why == "newer":
                # A quick return would burn the mapping's retries and lose good records (rule 3).
                patience.sleep_out()
        numbers = {record.seq: record.number for record in batch.records}
        return numbers[min(undone)] if undone else None

    def _write(self, write: Write) -> None:
        if isinstance(write, DerivedWrite):
            self._derive(write)
        else:
            self._count(write)

    def _derive(self, write: DerivedWrite) -> None:
        """Rule 6: put, or leave a tombstone even where nothing stood."""
        item = {**key_image(write.key), "seq": {"S": write.seq}}
        if write.row is None:
            item["ttl"] = images.to_value(int((self._now() + TOMBSTONE).timestamp()))
        else:
            item |= {"GSI2PK": {"S": write.row.gsi2pk}, "GSI2SK": {"S": write.row.gsi2sk}}
        try:
            self._store.put(item, condition=f"{slots.FENCE}:seq", values={":seq": {"S": write.seq}})
        except ConditionFailedError:
            return  # something as new or newer stands there

    def _count(self, write: SlotWrite) -> None:
        """Rule 9: count the whole; what is refused says where to go on, until nothing remains."""
        parts = write.parts
        while parts:
            change = slots.adding(
                write.key,
                total(parts),
                parts[0].seq,
                parts[-1].seq,
                dirty_shards=self._dirty_shards,
                now=self._now(),
            )
            try:
                self._store.update(
                    change.key,
                    change.update,
                    condition=change.condition,
                    names=change.names,
                    values=change.values,
                )
            except ConditionFailedError as refused:
                if refused.item is None:
                    raise RefusedError(f"{write.key}: refused, but nothing stands there") from None
                counted = refused.item["seq"]["S"]
                parts = tuple(part for part in parts if part.seq > counted)
            else:
                return
