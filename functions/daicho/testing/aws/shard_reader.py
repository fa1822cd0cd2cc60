"""One shard as a mapping reads it: the checkpoint, the current batch, the tumbling window."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

from daicho.testing.aws.event_filters import EventFilters
from daicho.testing.aws.invocations import Invocation
from daicho.testing.aws.mapping_settings import MappingSettings
from daicho.testing.aws.table_stream import Record, Shard

MAX_PAYLOAD_BYTES = 6 * 1024 * 1024
RETENTION_S = 24 * 3600.0
WINDOW_GRACE_S = 120.0
"""Seconds that Lambda waits for more records of a tumbling window whose time is over."""


@dataclass
class PendingBatch:
    """Records that are sent together until they are settled.

    ``positions``: of the records that the filters select; positions are indexes into the shard's
    records. ``failures`` count against the retries. ``invocation_count``: how often the function
    was called. ``has_function_error``: whether the last call ended in an error.
    """

    end: int
    positions: list[int]
    failures: int = 0
    invocation_count: int = 0
    has_function_error: bool = False

    def split(self) -> list[PendingBatch]:
        """The same records in two batches, the first not smaller."""
        half = (len(self.positions) + 1) // 2
        first, second = self.positions[:half], self.positions[half:]
        more = (self.failures, self.invocation_count, self.has_function_error)
        return [
            PendingBatch(second[0], first, *more),
            PendingBatch(self.end, second, *more),
        ]


@dataclass
class TumblingWindow:
    """A tumbling window that is open on a shard, and the state that the function returned."""

    start: float
    state: Any = field(default_factory=dict)
    too_large: bool = False
    failures: int = 0


class ShardReader:
    """The progress of a mapping in one shard. ``position``: every record before it is settled.

    ``batches`` are not settled, in order, the first at the checkpoint. There is one at a time,
    except after a batch was split. ``trimmed``: records that the stream removed too early.
    ``filter_changes``: the times from which filters are used, in epoch seconds, and the filters.
    """

    def __init__(
        self,
        shard: Shard,
        settings: MappingSettings,
        filters: EventFilters,
        now: Callable[[], dt.datetime],
    ) -> None:
        self.shard = shard
        self.position = 0
        self.batches: list[PendingBatch] = []
        self.window: TumblingWindow | None = None
        self.running: Invocation | None = None
        self.trimmed: list[Record] = []
        self.filter_changes = [(-inf, filters)]
        self._settings = settings
        self._now = now
        self._gathering_since = self.get_time()
        self._match_results: list[bool] = []

    def get_time(self) -> float:
        """The time in epoch seconds, as in records."""
        return self._now().timestamp()

    def list_records(self, positions: Sequence[int]) -> list[Record]:
        """Some of the shard's records."""
        return [self.shard.records[position] for position in positions]

    def list_numbers(self, positions: Sequence[int]) -> list[str]:
        """Their sequence numbers."""
        return [record["dynamodb"]["SequenceNumber"] for record in self.list_records(positions)]

    def list_older(self, positions: Sequence[int], seconds: float) -> list[int]:
        """Those that are older than so many seconds."""
        return [
            position for position in positions if self._age(self.shard.records[position]) > seconds
        ]

    def end_invocation(self) -> None:
        """An invocation has ended: the next batching window begins."""
        self.running = None
        self._gathering_since = self.get_time()

    def settle_first(self) -> None:
        """The first batch is settled: it succeeded or was discarded."""
        self.position = self.batches.pop(0).end

    def is_read(self) -> bool:
        """Whether every record that was written so far is settled."""
        self._skip_filtered()
        return not self.batches and self.position == len(self.shard.records)

    def is_finished(self) -> bool:
        """Whether everything is settled and the last window closed: its children may begin."""
        return self.shard.closed and not self.running and self.is_read() and self.window is None

    def has_work(self) -> bool:
        """Whether there is something to send now."""
        if self.batches or (self.window is not None and self.window.too_large):
            return True
        return self._build_batch(None) is not None or self.is_window_over()

    def gather_batch(self, max_records: int | None) -> bool:
        """Make the next batch, if it is time; its first record may open a window."""
        batch = self._build_batch(max_records)
        if batch is None:
            return False
        if self._settings.tumbling_window and self.window is None:
            self.window = TumblingWindow(self._find_window_start())
        self.batches.append(batch)
        return True

    def is_window_over(self) -> bool:
        """A window ends with its shard, at a later record, or some time after its end."""
        if self.window is None or self.batches:
            return False
        end = self.window.start + self._settings.tumbling_window
        if self.is_read():
            return self.shard.closed or self.get_time() >= end + WINDOW_GRACE_S
        return _get_creation_time(self.shard.records[self.position]) >= end

    def _build_batch(self, max_records: int | None) -> PendingBatch | None:
        """As many records as fit, of one tumbling window; None while the mapping waits for more."""
        self._skip_filtered()
        if self.position == len(self.shard.records):
            return None
        size = min(self._settings.batch_size, max_records or self._settings.batch_size)
        batch = PendingBatch(self.position, [])
        length = self._settings.tumbling_window
        end = self._find_window_start() + length if length else inf
        room, is_full = MAX_PAYLOAD_BYTES, self.shard.closed
        for index in range(self.position, len(self.shard.records)):
            record = self.shard.records[index]
            if self._matches(index):
                room -= self._size(index)
                if len(batch.positions) == size or room <= 0 or _get_creation_time(record) >= end:
                    is_full = True
                    break
                batch.positions.append(index)
            batch.end = index + 1
        is_full = is_full or len(batch.positions) == size
        waited = self.get_time() - self._gathering_since
        is_time = is_full or waited >= self._settings.batching_window
        return batch if batch.positions and is_time else None

    def _find_window_start(self) -> float:
        """Where the open window begins, or the one that the next record opens."""
        if self.window is not None:
            return self.window.start
        at = _get_creation_time(self.shard.records[self.position])
        return at - at % self._settings.tumbling_window

    def _skip_filtered(self) -> None:
        """Settle the records that the filters leave out. Records that were trimmed are lost."""
        if self.batches:
            return
        while self.position < len(self.shard.records):
            record = self.shard.records[self.position]
            if self._matches(self.position):
                if self._age(record) <= RETENTION_S:
                    return
                self.trimmed.append(record)
            self.position += 1

    def list_selections(self) -> list[bool]:
        """Whether the filters selected it, for each record that was read so far."""
        if self.position:
            self._matches(self.position - 1)  # the position may be behind the records at the start
        return list(self._match_results)

    def _matches(self, index: int) -> bool:
        """Whether the filters select a record: evaluated once, by those in use at that time."""
        if index >= len(self._match_results):
            now = self.get_time()
            filters = next(each for at, each in reversed(self.filter_changes) if at <= now)
            for record in self.shard.records[len(self._match_results) : index + 1]:
                self._match_results.append(filters.matches(record))
        return self._match_results[index]

    def _size(self, index: int) -> int:
        """The size of a record in a payload, in bytes."""
        return len(self.shard.render_record(index)) + 2

    def _age(self, record: Record) -> float:
        return self.get_time() - _get_creation_time(record)


def _get_creation_time(record: Record) -> float:
    return float(record["dynamodb"]["ApproximateCreationDateTime"])
