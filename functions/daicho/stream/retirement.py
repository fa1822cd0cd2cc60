"""Retiring closed shards of the stream, so that their slots are folded after hours (rule 48).

A stream shard lives for some hours. Without this its slots would be kept for 72 hours, and a busy
tally would hold about 19 of them for each partition of the table.

Lambda reads a shard only after its parent. Once the projector has begun with a child, every record
of the parent is handled, and whatever still arrives of it is a repeat. The mark in the parent's
shard item makes such a batch end before it writes (`daicho.stream.quarantine`). An attempt that
announced before may still write until the settle time is over; then no write of the shard's slots
is left that their numbers would have to refuse.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from daicho.errors import ConditionFailedError
from daicho.storage.protocols import DescribesStream, apply_update
from daicho.storage.table import Table
from daicho.stream import claims
from daicho.stream.claims import ShardClaims
from daicho.stream.shard_items import read_shards
from daicho.stream.shard_progress import StreamProgress
from daicho.tally.slots import SettledShards

INTERVAL = dt.timedelta(hours=1)
RETRY_INTERVAL = dt.timedelta(minutes=10)
"""After an error. Meanwhile the slots of more shards are kept, and nothing else."""

_log = logging.getLogger(__name__)


@dataclass
class ShardRetirement:
    """Retires the closed shards of one stream, once an hour.

    ``open_stream``: describes the stream; opened when it is first needed. ``settle``: longer than
    any attempt lasts that may write the slots of a shard.
    """

    store: Table
    open_stream: Callable[[], DescribesStream]
    settle: dt.timedelta
    now: Callable[[], dt.datetime]
    _retired: Mapping[str, dt.datetime] = field(default_factory=dict)
    _stream: DescribesStream | None = None
    _due: dt.datetime | None = None

    def retire_if_due(self) -> int:
        """Retire what can be retired, if the last time was an hour ago; returns how many.

        An error is logged: no shard has to be retired at any time.
        """
        now = self.now()
        if self._due is not None and now < self._due:
            return 0
        try:
            count = self._retire()
        except Exception:  # whatever it is: it must not keep the totals from being written
            _log.exception("shards are not retired")
            self._due = now + RETRY_INTERVAL
            return 0
        self._due = now + INTERVAL
        return count

    def get_settled(self) -> SettledShards:
        """The shards that were retired longer ago than the settle time."""
        until = self.now() - self.settle
        shards = (shard for shard, at in self._retired.items() if at <= until)
        return SettledShards(frozenset(shards), self.settle)

    def _retire(self) -> int:
        """Retire the shards of which a child has begun.

        Raises:
            StoreError: the stream or the shard items cannot be read, or not all are written.
        """
        if self._stream is None:
            self._stream = self.open_stream()
        shards = self._stream.list_shards()
        items = read_shards(self.store, (shard.id for shard in shards), consistent=False)
        retired = {
            shard: item.retired_at for shard, item in items.items() if item.retired_at is not None
        }
        new = {
            shard: self._retire_shard(shard)
            for shard in StreamProgress(shards, items).list_finished()
            if shard not in retired
        }
        # Shards that the description no longer has are left out: their slots are idle soon.
        self._retired = {**retired, **new}
        return len(new)

    def _retire_shard(self, shard: str) -> dt.datetime:
        """Set the mark, and return its time; of the first one, if another run was faster."""
        now = self.now()
        try:
            apply_update(self.store, claims.retire_update(shard, now))
        except ConditionFailedError as refused:
            existing = ShardClaims.from_item(shard, refused.item)
            return existing.retired_at or now
        return now
