"""Lambda's event source mapping for DynamoDB streams, as a state machine without threads.

It reads shards, makes batches, returns the events of invocations, and takes their outcomes. It
does not know what the function does. Tests reproduce each behaviour that AWS documents; comments
name those that are not documented. Other behaviour of Lambda, such as a batch that is delivered
twice or out of order, is simulated by its caller.
"""

from __future__ import annotations

import datetime as dt
import json
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from daicho.testing.aws.event_filters import EventFilters
from daicho.testing.aws.invocations import FunctionFailed, FunctionReturned, Invocation
from daicho.testing.aws.mapping_settings import MappingSettings
from daicho.testing.aws.on_failure import (
    RECORD_TOO_OLD,
    RETRIES_EXHAUSTED,
    build_failure_object,
    render_time,
)
from daicho.testing.aws.shard_reader import RETENTION_S, PendingBatch, ShardReader, TumblingWindow
from daicho.testing.aws.table_stream import Record, TableStream

MAX_STATE_BYTES = 1024 * 1024
WHOLE_BATCH = -1
"""A batch that failed as a whole, in contrast to one that failed from its n-th record on."""


class EventSourceMapping:
    """One event source mapping, from its creation on.

    ``now``: the time, in UTC. ``put_failure`` puts an object, by name and body, into the on-failure
    destination.
    """

    def __init__(
        self,
        settings: MappingSettings,
        stream: TableStream,
        now: Callable[[], dt.datetime],
        put_failure: Callable[[str, bytes], None] | None = None,
    ) -> None:
        self.settings = settings
        self._stream = stream
        self._now = now
        self._put_failure = put_failure
        self._filters = EventFilters(settings.filters)
        self._readers: dict[str, ShardReader] = {}
        self._finished: set[str] = set()
        self._invocations = 0
        for shard in stream.shards.values():
            reader = self._get_reader(shard.id)
            if settings.starting_position == "LATEST":
                # A shard that is added later is read from its start.
                reader.position = len(shard.records)

    def list_ready_shards(self) -> list[str]:
        """The shards that have something to poll now, in the stream's order."""
        return [
            id
            for id in self._stream.shards
            if self._can_continue(id) and self._get_reader(id).has_work()
        ]

    def poll(self, shard: str, max_records: int | None = None) -> Invocation | None:
        """The next invocation of a shard: a batch to retry, a new one, or a window's end.

        None while one is in progress, while the shard's parent is not at its end, or while there is
        nothing to send. ``max_records``: a limit below the batch size, as after a short read.
        """
        if not self._can_continue(shard):
            return None
        reader = self._get_reader(shard)
        if reader.window is not None and reader.window.too_large:
            return self._close_window(reader, early=True)
        while reader.batches or reader.gather_batch(max_records):
            batch = reader.batches[0]
            self._discard_old(reader, batch)
            if batch.positions:
                return self._invoke(
                    reader, self._build_event(reader, batch.positions), tuple(batch.positions)
                )
            reader.settle_first()
        return self._close_window(reader, early=False) if reader.is_window_over() else None

    def settle(self, invocation: Invocation, outcome: FunctionReturned | FunctionFailed) -> None:
        """Take the outcome of an invocation that `poll` returned.

        Raises:
            ValueError: it is not in progress: it is settled, or the poller was replaced.
        """
        reader = self._get_reader(invocation.shard)
        if reader.running is not invocation:
            raise ValueError(f"{invocation.id} is not in progress")
        failed = self._find_first_failure(invocation, outcome)
        reader.end_invocation()
        if (
            isinstance(outcome, FunctionReturned)
            and failed != WHOLE_BATCH
            and reader.window is not None
        ):
            reader.window.state = outcome.response["state"]
        counts = isinstance(outcome, FunctionReturned) or outcome.was_invoked
        if invocation.closes_window:
            self._settle_closed_window(reader, failed, counts=counts)
        elif failed is None:
            reader.settle_first()
        elif counts:
            reader.batches[0].invocation_count += 1
            reader.batches[0].has_function_error = isinstance(outcome, FunctionFailed)
            self._settle_failure(reader, reader.batches[0], failed)
        window = reader.window
        if window is not None:
            window.too_large = len(json.dumps(window.state).encode()) > MAX_STATE_BYTES

    def replace_poller(self, shard: str) -> None:
        """Another poller continues: it knows the checkpoint, and makes new batches from there.

        So a batch may arrive again with other boundaries and with all of its retries. The outcome
        of an invocation in progress is ignored.
        """
        self._get_reader(shard).batches.clear()
        self._get_reader(shard).end_invocation()

    def change_filters(self, patterns: Sequence[str], draw_delay: Callable[[], float]) -> None:
        """Change the filters, as UpdateEventSourceMapping does.

        An update takes up to 90 seconds to be in use, so the poller of each shard gets a delay of
        its own. Until then it drops by the earlier filters, and what it drops never arrives. A
        child of a shard begins with the filters of its parent, and changes them when it would.
        """
        self._filters = EventFilters(patterns)
        readers = [self._get_reader(id) for id in self._stream.shards]
        for reader in readers:
            reader.filter_changes.append((reader.get_time() + draw_delay(), self._filters))

    def list_selections(self, shard: str) -> list[bool]:
        """Whether the filters selected it, for each record of a shard that was read so far."""
        return self._get_reader(shard).list_selections()

    def get_checkpoint(self, shard: str) -> int:
        """The number of the shard's records that are settled."""
        return self._get_reader(shard).position

    def is_read(self, shard: str) -> bool:
        """Whether every record of a shard is settled that was written so far."""
        return self._get_reader(shard).is_read()

    def list_trimmed_records(self) -> list[Record]:
        """The records that the stream removed before the function had handled them."""
        return [record for reader in self._readers.values() for record in reader.trimmed]

    def _get_reader(self, id: str) -> ShardReader:
        if id not in self._readers:
            shard = self._stream.shards[id]
            reader = ShardReader(shard, self.settings, self._filters, self._now)
            if shard.parent in self._stream.shards:
                reader.filter_changes = list(self._get_reader(shard.parent).filter_changes)
            self._readers[id] = reader
        return self._readers[id]

    def _can_continue(self, id: str) -> bool:
        """One batch of a shard at a time, and a shard only after its parent, if that exists."""
        return self._is_next(id) and self._get_reader(id).running is None

    def _is_next(self, id: str) -> bool:
        """Whether all ancestors of a shard are settled. One without records has a parent too."""
        parent = self._stream.shards[id].parent
        if parent not in self._stream.shards or parent in self._finished:
            return True
        if not (self._get_reader(parent).is_finished() and self._is_next(parent)):
            return False
        self._finished.add(parent)
        return True

    def _close_window(self, reader: ShardReader, *, early: bool) -> Invocation:
        """Invoke for a window's end, without records.

        For a window that ends early because of its size, the guide documents only the mark. The
        client libraries describe that the same window continues with an empty state.
        """
        event = self._build_event(reader, [])
        event |= {"isFinalInvokeForWindow": not early, "isWindowTerminatedEarly": early}
        return self._invoke(reader, event, (), closes_window=True)

    def _build_event(self, reader: ShardReader, positions: Sequence[int]) -> dict[str, Any]:
        event: dict[str, Any] = {"Records": reader.list_records(positions)}
        if reader.window is not None:
            start = reader.window.start
            end = start + self.settings.tumbling_window
            event["window"] = {"start": render_time(start), "end": render_time(end)}
            event["state"] = reader.window.state
            event["shardId"] = reader.shard.id
            event["eventSourceARN"] = self._stream.arn
            event["isFinalInvokeForWindow"] = event["isWindowTerminatedEarly"] = False
        return event

    def _invoke(
        self,
        reader: ShardReader,
        event: dict[str, Any],
        positions: tuple[int, ...],
        *,
        closes_window: bool = False,
    ) -> Invocation:
        self._invocations += 1
        id = uuid.uuid5(uuid.NAMESPACE_URL, f"{self.settings.uuid}/{self._invocations}")
        records = ", ".join(map(reader.shard.render_record, positions))
        payload = json.dumps({**event, "Records": []}).replace("[]", f"[{records}]", 1)
        reader.running = Invocation(str(id), reader.shard.id, payload, positions, closes_window)
        return reader.running

    def _find_first_failure(
        self, invocation: Invocation, outcome: FunctionReturned | FunctionFailed
    ) -> int | None:
        """The first failed position of the batch; None is success, WHOLE_BATCH no valid answer."""
        if isinstance(outcome, FunctionFailed):
            return WHOLE_BATCH
        reader, response = self._get_reader(invocation.shard), outcome.response
        if reader.window is not None and not (isinstance(response, dict) and "state" in response):
            return WHOLE_BATCH
        if not self.settings.report_failures or not isinstance(response, dict):
            return None
        numbers = reader.list_numbers(invocation.positions)
        positions = []
        for failure in response.get("batchItemFailures") or ():
            number = failure.get("itemIdentifier") if isinstance(failure, dict) else None
            if number not in numbers:
                return WHOLE_BATCH
            positions.append(numbers.index(number))
        return min(positions, default=None)

    def _settle_closed_window(
        self, reader: ShardReader, failed: int | None, *, counts: bool
    ) -> None:
        """A window that cannot be closed blocks its shard until its retries are exhausted."""
        window = reader.window
        if window is None:
            raise AssertionError("an invocation closed a window that is not open")
        window.failures += counts
        if failed is None and window.too_large:
            reader.window = TumblingWindow(window.start)
        elif failed is None or self._is_exhausted(window.failures):
            reader.window = None

    def _settle_failure(self, reader: ShardReader, batch: PendingBatch, failed: int) -> None:
        """Send again from the lowest number that was reported, or split, or discard.

        A split uses no retry, neither at a number that was reported nor in the middle. It is not
        documented that a batch which gets shorter without a split does.
        """
        if failed > 0:
            reader.position = batch.positions[failed]
            batch.positions = batch.positions[failed:]
            if self.settings.bisect:
                return
        if self.settings.bisect and failed == WHOLE_BATCH and len(batch.positions) > 1:
            reader.batches[:1] = batch.split()
            return
        batch.failures += 1
        if self._is_exhausted(batch.failures):
            self._discard(reader, batch, batch.positions, RETRIES_EXHAUSTED)
            reader.settle_first()

    def _is_exhausted(self, failures: int) -> bool:
        return self.settings.retries != -1 and failures > self.settings.retries

    def _discard_old(self, reader: ShardReader, batch: PendingBatch) -> None:
        """Leave out records that exceed the maximum age or that the stream has trimmed."""
        limit = self.settings.maximum_age
        old = reader.list_older(batch.positions, RETENTION_S if limit == -1 else limit)
        if old and limit == -1:
            reader.trimmed += reader.list_records(old)
        elif old:
            self._discard(reader, batch, old, RECORD_TOO_OLD)
        batch.positions = [position for position in batch.positions if position not in old]

    def _discard(
        self, reader: ShardReader, batch: PendingBatch, positions: Sequence[int], condition: str
    ) -> None:
        if self._put_failure is None:
            return
        name, body = build_failure_object(
            self.settings,
            self._stream.arn,
            reader.shard.id,
            self._build_event(reader, positions),
            self._now(),
            condition,
            invocation_count=batch.invocation_count,
            has_function_error=batch.has_function_error,
        )
        self._put_failure(name, body)
