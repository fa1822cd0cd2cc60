"""Lambda's event source mapping for DynamoDB streams, as a state machine without threads.

It reads shards, makes batches, says what the function is invoked with, and takes the outcome. It
knows nothing of what the function does. Its sources are the pages that ``documented.py`` names,
behaviour by behaviour; where they are silent, the code says so. What Lambda may do besides, such
as deliver a batch twice or out of order, is for a caller to play with the events that are here.
"""

from __future__ import annotations

import datetime as dt
import json
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tests.delivery.aws.event_filters import EventFilters
from tests.delivery.aws.lane import RETENTION, Lane, Piece, Window
from tests.delivery.aws.on_failure import EXHAUSTED, TOO_OLD, GivenUp, instant, object_of
from tests.delivery.aws.stream import Record, Stream

STATE_BYTES = 1024 * 1024
WHOLE = -1
"""A batch that failed as a whole, as against from its n-th record on."""


@dataclass(frozen=True)
class MappingSettings:
    """The parameters of CreateEventSourceMapping. Seconds; -1 is without end, a window of 0 none.

    ``ParallelizationFactor`` is 1, as it must be with a tumbling window.

    Raises:
        ValueError: outside of what Lambda takes.
    """

    batch_size: int = 100
    batching_window: int = 0
    tumbling_window: int = 0
    retries: int = -1
    maximum_age: int = -1
    bisect: bool = False
    report_failures: bool = False
    filters: tuple[str, ...] = ()
    starting_position: Literal["TRIM_HORIZON", "LATEST"] = "TRIM_HORIZON"
    function_arn: str = "arn:aws:lambda:us-east-1:000000000000:function:function"
    uuid: str = "00000000-0000-4000-8000-000000000000"

    def __post_init__(self) -> None:
        ranges = {
            "batch_size": (1, 10_000),
            "batching_window": (0, 300),
            "tumbling_window": (0, 900),
            "retries": (-1, 10_000),
            "maximum_age": (-1, 604_800),
        }
        for name, (least, most) in ranges.items():
            if not least <= getattr(self, name) <= most:
                raise ValueError(f"{name}: Lambda takes {least} to {most}")
        if self.starting_position not in ("TRIM_HORIZON", "LATEST"):
            raise ValueError(f"{self.starting_position}: a DynamoDB stream has no such position")


@dataclass(frozen=True, eq=False)
class Invocation:
    """One call of the function. ``closes``: it ends a tumbling window and has no records."""

    id: str
    shard: str
    payload: str
    taken: tuple[int, ...]
    closes: bool

    @property
    def event(self) -> dict[str, Any]:
        """What the function is handed: fresh each time, as JSON makes it."""
        event: dict[str, Any] = json.loads(self.payload)
        return event


@dataclass(frozen=True)
class Returned:
    """The function came to its end. ``response``: what it returned, as JSON has it."""

    response: Any = None


@dataclass(frozen=True)
class Failed:
    """No answer: an error of the function, or (throttled, unavailable) it was never reached."""

    how: Literal["exception", "timeout", "exit", "throttled", "unavailable"] = "exception"

    @property
    def reached(self) -> bool:
        """Whether the function got the batch: only then does an attempt count."""
        return self.how not in ("throttled", "unavailable")


class Mapping:
    """One event source mapping, from its creation on. ``lay_down``: the on-failure bucket."""

    def __init__(
        self,
        settings: MappingSettings,
        stream: Stream,
        now: Callable[[], dt.datetime],
        lay_down: Callable[[str, bytes], None] | None = None,
    ) -> None:
        self.settings = settings
        self._stream = stream
        self._now = now
        self._lay_down = lay_down
        self._filters = EventFilters(settings.filters)
        self._lanes: dict[str, Lane] = {}
        self._invocations = 0
        for each in stream.shards.values():
            lane = self._lane(each.id)
            if settings.starting_position == "LATEST":
                # A shard that comes later is read from its start, wherever the mapping began.
                lane.position = len(each.records)

    def ready(self) -> list[str]:
        """The shards that have something to poll now, in the stream's order."""
        return [
            id for id in self._stream.shards if self._may_go_on(id) and self._lane(id).has_work()
        ]

    def poll(self, shard: str, most: int | None = None) -> Invocation | None:
        """The next invocation of a shard: a batch to retry, a new one, or a window's end.

        None while one is under way, while the shard's parent is not at its end, or while there is
        nothing to send. ``most``: fewer records than a new batch may have, as a short read gives.
        """
        if not self._may_go_on(shard):
            return None
        lane = self._lane(shard)
        if lane.window is not None and lane.window.too_large:
            return self._close(lane, early=True)
        while lane.pieces or lane.gather(most):
            piece = lane.pieces[0]
            self._give_up_old(lane, piece)
            if piece.taken:
                return self._invoke(lane, self._event(lane, piece.taken), tuple(piece.taken))
            lane.drop()
        return self._close(lane, early=False) if lane.window_is_over() else None

    def settle(self, invocation: Invocation, outcome: Returned | Failed) -> None:
        """Take the outcome of an invocation that ``poll`` gave.

        Raises:
            ValueError: it is not under way: settled before, or the poller was replaced.
        """
        lane = self._lane(invocation.shard)
        if lane.running is not invocation:
            raise ValueError(f"{invocation.id} is not under way")
        failed = self._failed_from(invocation, outcome)
        lane.go_on()
        if isinstance(outcome, Returned) and failed != WHOLE and lane.window is not None:
            lane.window.state = outcome.response["state"]
        counts = isinstance(outcome, Returned) or outcome.reached
        if invocation.closes:
            self._settle_close(lane, failed, counts=counts)
        elif failed is None:
            lane.drop()
        elif counts:
            lane.pieces[0].invoked += 1
            lane.pieces[0].error = isinstance(outcome, Failed)
            self._settle_failure(lane, lane.pieces[0], failed)
        window = lane.window
        if window is not None:
            window.too_large = len(json.dumps(window.state).encode()) > STATE_BYTES

    def replace_poller(self, shard: str) -> None:
        """Another poller takes over: it knows the checkpoint, and gathers anew from there.

        So a batch may come again with other boundaries, and with its retries before it. An
        invocation under way is nobody's any more.
        """
        self._lane(shard).pieces.clear()
        self._lane(shard).go_on()

    def position(self, shard: str) -> int:
        """The checkpoint: how many of the shard's records are settled."""
        return self._lane(shard).position

    def trimmed(self) -> list[Record]:
        """What the stream let go before the function was done with it."""
        return [record for lane in self._lanes.values() for record in lane.trimmed]

    def at_end(self) -> bool:
        """Whether every record of every shard is settled. A window may be open still."""
        lanes = [self._lane(id) for id in self._stream.shards]
        return all(not each.running and each.is_read() for each in lanes)

    def _lane(self, id: str) -> Lane:
        if id not in self._lanes:
            shard = self._stream.shards[id]
            self._lanes[id] = Lane(shard, self.settings, self._filters, self._now)
        return self._lanes[id]

    def _may_go_on(self, id: str) -> bool:
        """One batch of a shard at a time, and a shard only after its parent, if that is there."""
        parent = self._stream.shards[id].parent
        is_next = parent not in self._stream.shards or self._lane(parent).is_finished()
        return is_next and self._lane(id).running is None

    def _close(self, lane: Lane, *, early: bool) -> Invocation:
        """Invoke for a window's end, without records.

        Of a window that is cut short for its size the guide gives only the mark; that the same
        window goes on with a fresh state is what the client libraries say of it.
        """
        event = self._event(lane, [])
        event |= {"isFinalInvokeForWindow": not early, "isWindowTerminatedEarly": early}
        return self._invoke(lane, event, (), closes=True)

    def _event(self, lane: Lane, taken: Sequence[int]) -> dict[str, Any]:
        event: dict[str, Any] = {"Records": lane.records(taken)}
        if lane.window is not None:
            start = lane.window.start
            end = start + self.settings.tumbling_window
            event["window"] = {"start": instant(start), "end": instant(end)}
            event["state"] = lane.window.state
            event["shardId"] = lane.shard.id
            event["eventSourceARN"] = self._stream.arn
            event["isFinalInvokeForWindow"] = event["isWindowTerminatedEarly"] = False
        return event

    def _invoke(
        self, lane: Lane, event: dict[str, Any], taken: tuple[int, ...], *, closes: bool = False
    ) -> Invocation:
        self._invocations += 1
        id = uuid.uuid5(uuid.NAMESPACE_URL, f"{self.settings.uuid}/{self._invocations}")
        lane.running = Invocation(str(id), lane.shard.id, json.dumps(event), taken, closes)
        return lane.running

    def _failed_from(self, invocation: Invocation, outcome: Returned | Failed) -> int | None:
        """Where in the batch failures begin: None is success, WHOLE what is no proper answer."""
        if isinstance(outcome, Failed):
            return WHOLE
        lane, response = self._lane(invocation.shard), outcome.response
        if lane.window is not None and not (isinstance(response, dict) and "state" in response):
            return WHOLE
        if not self.settings.report_failures or not isinstance(response, dict):
            return None
        numbers = lane.numbers(invocation.taken)
        found = []
        for each in response.get("batchItemFailures") or ():
            name = each.get("itemIdentifier") if isinstance(each, dict) else None
            if name not in numbers:
                return WHOLE
            found.append(numbers.index(name))
        return min(found, default=None)

    def _settle_close(self, lane: Lane, failed: int | None, *, counts: bool) -> None:
        """A window that cannot be closed holds its shard up, as long as the retries last."""
        window = lane.window
        assert window is not None
        window.failures += counts
        if failed is None and window.too_large:
            lane.window = Window(window.start)
        elif failed is None or self._is_exhausted(window.failures):
            lane.window = None

    def _settle_failure(self, lane: Lane, piece: Piece, failed: int) -> None:
        """Send again from the lowest number that was reported, or split, or give up.

        To split a batch does not use up its retries, neither at a number that was reported nor in
        the middle. That a batch which gets shorter without a split does is not documented.
        """
        if failed > 0:
            piece.begin = lane.position = piece.taken[failed]
            piece.taken = piece.taken[failed:]
            if self.settings.bisect:
                return
        if self.settings.bisect and failed == WHOLE and len(piece.taken) > 1:
            lane.pieces[:1] = piece.halves()
            return
        piece.failures += 1
        if self._is_exhausted(piece.failures):
            self._give_up(lane, piece, piece.taken, EXHAUSTED)
            lane.drop()

    def _is_exhausted(self, failures: int) -> bool:
        return self.settings.retries != -1 and failures > self.settings.retries

    def _give_up_old(self, lane: Lane, piece: Piece) -> None:
        """Leave out what is past the maximum age, or what the stream itself has trimmed."""
        limit = self.settings.maximum_age
        old = lane.older(piece.taken, RETENTION if limit == -1 else limit)
        if old and limit == -1:
            lane.trimmed += lane.records(old)
        elif old:
            self._give_up(lane, piece, old, TOO_OLD)
        piece.taken = [each for each in piece.taken if each not in old]

    def _give_up(self, lane: Lane, piece: Piece, taken: Sequence[int], condition: str) -> None:
        if self._lay_down is None:
            return
        given_up = GivenUp(
            mapping=self.settings.uuid,
            function_arn=self.settings.function_arn,
            stream_arn=self._stream.arn,
            shard=lane.shard.id,
            records=lane.records(taken),
            event=self._event(lane, taken),
            condition=condition,
            invoked=piece.invoked,
            error=piece.error,
            at=self._now(),
        )
        self._lay_down(*object_of(given_up))
