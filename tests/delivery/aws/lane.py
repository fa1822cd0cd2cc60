"""One shard as a mapping reads it: the checkpoint, the batch under way, the tumbling window."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.delivery.aws.event_filters import EventFilters
from tests.delivery.aws.stream import Record, Shard

if TYPE_CHECKING:
    from tests.delivery.aws.mapping import Invocation, MappingSettings

PAYLOAD_BYTES = 6 * 1024 * 1024
RETENTION = 24 * 3600.0
WINDOW_GRACE = 120.0
"""Seconds that Lambda waits for more records of a tumbling window whose time is over."""


@dataclass
class Piece:
    """Records that are sent together until they are settled. ``taken``: what the filters pass.

    Positions are indexes into the shard's records. ``failures`` is what counts against the
    retries, ``invoked`` how often the function was called, ``error`` whether it failed last.
    """

    begin: int
    end: int
    taken: list[int]
    failures: int = 0
    invoked: int = 0
    error: bool = False

    def halves(self) -> list[Piece]:
        """The same records in two pieces, the first no smaller."""
        half = (len(self.taken) + 1) // 2
        first, second = self.taken[:half], self.taken[half:]
        more = (self.failures, self.invoked, self.error)
        return [
            Piece(self.begin, second[0], first, *more),
            Piece(second[0], self.end, second, *more),
        ]


@dataclass
class Window:
    """A tumbling window that is open on a shard, and what the function keeps in it."""

    start: float
    state: Any = field(default_factory=dict)
    too_large: bool = False
    failures: int = 0


class Lane:
    """How far a mapping has come in one shard. ``position``: all before it is settled.

    ``pieces`` are a batch's, in order, the first at the checkpoint; there is one at a time, but
    for a batch that was split.
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
        self.pieces: list[Piece] = []
        self.window: Window | None = None
        self.running: Invocation | None = None
        self.trimmed: list[Record] = []
        self._settings = settings
        self._filters = filters
        self._now = now
        self._gathering_since = self.seconds()
        self._sizes: list[int] = []
        self._passing: list[bool] = []

    def seconds(self) -> float:
        """The time, as records write it."""
        return self._now().timestamp()

    def records(self, taken: Sequence[int]) -> list[Record]:
        """Some of the shard's records."""
        return [self.shard.records[each] for each in taken]

    def numbers(self, taken: Sequence[int]) -> list[str]:
        """Their sequence numbers."""
        return [each["dynamodb"]["SequenceNumber"] for each in self.records(taken)]

    def older(self, taken: Sequence[int], seconds: float) -> list[int]:
        """Those that are older than so many seconds."""
        return [each for each in taken if self._age(self.shard.records[each]) > seconds]

    def go_on(self) -> None:
        """An invocation has come to its end: the next batching window begins."""
        self.running = None
        self._gathering_since = self.seconds()

    def drop(self) -> None:
        """The first piece is settled, whichever way."""
        self.position = self.pieces.pop(0).end

    def is_read(self) -> bool:
        """Whether every record that was written so far is settled."""
        self._pass_by()
        return not self.pieces and self.position == len(self.shard.records)

    def is_finished(self) -> bool:
        """Whether the shard is settled for good, its last window closed: its children may begin."""
        return self.shard.closed and not self.running and self.is_read() and self.window is None

    def has_work(self) -> bool:
        """Whether there is something to send now."""
        cut_short = self.window is not None and self.window.too_large
        return bool(self.pieces) or cut_short or bool(self._batch(None)) or self.window_is_over()

    def gather(self, most: int | None) -> bool:
        """Make the next batch, if it is time to; its first record may open a window."""
        batch = self._batch(most)
        if batch is None:
            return False
        if self._settings.tumbling_window and self.window is None:
            at = _created(self.shard.records[batch.taken[0]])
            self.window = Window(at - at % self._settings.tumbling_window)
        self.pieces.append(batch)
        return True

    def window_is_over(self) -> bool:
        """A window ends with its shard, at a later record, or when its time is well past."""
        if self.window is None or self.pieces:
            return False
        end = self.window.start + self._settings.tumbling_window
        if self.is_read():
            return self.shard.closed or self.seconds() >= end + WINDOW_GRACE
        return _created(self.shard.records[self.position]) >= end

    def _batch(self, most: int | None) -> Piece | None:
        """As many records as fit, all of one tumbling window; None while more are waited for."""
        self._pass_by()
        size = min(self._settings.batch_size, most or self._settings.batch_size)
        piece = Piece(self.position, self.position, [])
        room, until, is_full = PAYLOAD_BYTES, self._window_end(), self.shard.closed
        for index in range(self.position, len(self.shard.records)):
            record = self.shard.records[index]
            if self._passes(index):
                room -= self._size(index)
                if len(piece.taken) == size or room <= 0 or _created(record) >= until:
                    is_full = True
                    break
                until = min(until, self._window_end(record))
                piece.taken.append(index)
            piece.end = index + 1
        is_full = is_full or len(piece.taken) == size
        waited = self.seconds() - self._gathering_since
        is_time = is_full or waited >= self._settings.batching_window
        return piece if piece.taken and is_time else None

    def _window_end(self, first: Record | None = None) -> float:
        """Where the open window ends, or the one that this record would open."""
        length = self._settings.tumbling_window
        if length and self.window is not None:
            return self.window.start + length
        if length and first is not None:
            return _created(first) - _created(first) % length + length
        return float("inf")

    def _pass_by(self) -> None:
        """What the filters leave out is settled once it is read; what is trimmed is lost."""
        if self.pieces:
            return
        while self.position < len(self.shard.records):
            record = self.shard.records[self.position]
            if self._passes(self.position):
                if self._age(record) <= RETENTION:
                    return
                self.trimmed.append(record)
            self.position += 1

    def _passes(self, index: int) -> bool:
        """Whether the filters pass a record: asked of them once."""
        for record in self.shard.records[len(self._passing) : index + 1]:
            self._passing.append(self._filters.pass_on(record))
        return self._passing[index]

    def _size(self, index: int) -> int:
        """What a record takes of a payload, in bytes."""
        for record in self.shard.records[len(self._sizes) : index + 1]:
            self._sizes.append(len(json.dumps(record)) + 2)
        return self._sizes[index]

    def _age(self, record: Record) -> float:
        return self.seconds() - _created(record)


def _created(record: Record) -> float:
    return float(record["dynamodb"]["ApproximateCreationDateTime"])
