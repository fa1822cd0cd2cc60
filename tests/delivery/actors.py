"""Attempts that advance one operation at a time, and the faults that meet each operation.

An attempt runs the real code in a greenlet that gives its turn back before every operation on a
store and in every sleep. So one attempt can be overtaken by another between any two operations,
be left for good, or come back as a zombie, and a sequence of choices decides all of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeVar

from botocore.exceptions import ClientError, ReadTimeoutError
from greenlet import getcurrent, greenlet

from tests.delivery.aws.dynamo import cancelled, error
from tests.delivery.schedules.choices import Choices, scale_of

T = TypeVar("T")
MOST_STEPS = 5_000
"""Steps of one attempt; more is an attempt that never ends."""


class Crash(BaseException):
    """The process is gone."""


class Kind(Enum):
    """What an operation is, as far as faults tell operations apart."""

    READ = "read"
    QUERY = "query"
    WRITE = "write"
    BATCH = "batch"
    TRANSACTION = "transaction"
    LOOK = "look"
    LAY = "lay"


ON_TABLE = (Kind.READ, Kind.QUERY, Kind.WRITE, Kind.BATCH, Kind.TRANSACTION)
ON_WRITES = (Kind.WRITE, Kind.BATCH, Kind.TRANSACTION, Kind.LAY)
FAULTS: Mapping[str, tuple[Kind, ...]] = {
    "throttled table": ON_TABLE,
    "throttled key": ON_TABLE,
    "server error": (*ON_TABLE, Kind.LOOK, Kind.LAY),
    "crash before": (*ON_TABLE, Kind.LOOK, Kind.LAY),
    "crash after": ON_WRITES,
    "lost response": ON_WRITES,
    "repeated request": ON_WRITES,
    "conflict": (Kind.WRITE, Kind.TRANSACTION, Kind.LAY),
    "unprocessed": (Kind.BATCH,),
    "short page": (Kind.QUERY,),
    "slow": (*ON_TABLE, Kind.LOOK, Kind.LAY),
    "late landing": (Kind.WRITE, Kind.LAY),
}
"""The faults of one operation, and what they can meet."""
NAMES = ("", *FAULTS)


@dataclass
class Weather:
    """How likely each fault is in a schedule, the throttling that goes on for a while, and the
    requests that are still under way though nobody waits for them.
    """

    weights: Mapping[str, float] = field(default_factory=dict)
    table: int = 0
    keys: dict[str, int] = field(default_factory=dict)
    late: list[Callable[[], Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._is_calm = not self.weights
        self._scales = {kind: self._scale(kind) for kind in Kind}

    def fault(self, kind: Kind, choices: Choices) -> str:
        """The fault that meets an operation; empty for none."""
        if self._is_calm:
            return ""
        # Also where nothing can happen: a simpler schedule has the same choices in their places.
        return NAMES[choices.weighted(self._scales[kind], NAMES)]

    def throttles(self, key: str) -> bool:
        """Whether throttling that began earlier still goes on for this key."""
        if self.table:
            self.table -= 1
            return True
        if self.keys.get(key):
            self.keys[key] -= 1
            return True
        return False

    def land(self, choices: Choices | None = None) -> None:
        """Let requests arrive that nobody waits for: one, perhaps, or all that are left."""
        while self.late:
            if choices is not None and not choices.chance(0.15):
                return
            late = self.late.pop(choices.below(len(self.late)) if choices else 0)
            with suppress(ClientError):
                late()

    def _scale(self, kind: Kind) -> tuple[float, ...]:
        found = [self.weights.get(name, 0.0) * (kind in met) for name, met in FAULTS.items()]
        return scale_of((1.0, *found))


class Actor:
    """One invocation. ``version`` is that of its code, ``seconds`` what it has left."""

    def __init__(
        self,
        name: str,
        work: Callable[[Actor], Any],
        *,
        version: int,
        seconds: float,
        choices: Choices,
        weather: Weather,
        used: Counter[str],
    ) -> None:
        self.name = name
        self.version = version
        self.seconds = seconds
        self.choices = choices
        self.finished = False
        self.failure: BaseException | None = None
        self.outcome: Any = None
        self.dies_in: int | None = None
        """Operations after which the record that kills the process does so."""
        self._work = work
        self._weather = weather
        self.used = used
        self._steps = 0
        self._tokens = 0
        self._turns = _Turns(self)

    @property
    def overdue(self) -> bool:
        """Whether its time is over: Lambda ends it, or thinks so."""
        return self.seconds <= 0

    def step(self) -> None:
        """Let it go on to its next operation, or its end."""
        self._steps += 1
        assert self._steps < MOST_STEPS, f"{self.name} never ends"
        self._turns.switch()

    def kill(self) -> None:
        """End it where it stands."""
        if self._steps and not self.finished:
            self._turns.throw(Crash)
        self.finished = True

    def calm(self) -> None:
        """Nothing meets it any more."""
        self._weather = Weather()

    # --- From inside -------------------------------------------------------------------------

    def get_remaining_time_in_millis(self) -> int:
        """What Lambda's context says."""
        return max(0, int(self.seconds * 1000))

    def sleep(self, seconds: float) -> None:
        """Time that passes for this attempt while others go on."""
        self.seconds -= seconds + 0.01
        self._give_turn()

    def dies_after(self, operations: int) -> None:
        """A record kills the process: at once, or after so many more operations."""
        if operations == 0:
            raise Crash
        self.dies_in = operations

    def token(self) -> str:
        """What the SDK gives a transaction that has none."""
        self._tokens += 1
        return f"{id(self)}-{self._tokens}"

    def do(
        self,
        kind: Kind,
        operation: str,
        key: str,
        carry_out: Callable[[], T],
        partly: Callable[[Choices], T] | None = None,
    ) -> T:
        """Carry out one operation, as faults let it; ``partly`` does some of it."""
        self._give_turn()
        self._weather.land(self.choices)
        self.seconds -= 1
        if self.dies_in is not None:
            if self.dies_in == 0:
                raise Crash
            self.dies_in -= 1
        if kind in ON_TABLE and self._weather.throttles(key):
            raise throttled(operation)
        fault = self._weather.fault(kind, self.choices)
        if not fault:
            return carry_out()
        self.used[fault] += 1
        if fault in ("unprocessed", "short page") and partly is not None:
            return partly(self.choices)
        return self._under(fault, kind, operation, key, carry_out)

    def _under(
        self, fault: str, kind: Kind, operation: str, key: str, carry_out: Callable[[], T]
    ) -> T:
        match fault:
            case "throttled table":
                self._weather.table = self.choices.pick((0, 3, 40))
                raise throttled(operation)
            case "throttled key":
                self._weather.keys[key] = self.choices.pick((0, 3, 40))
                raise throttled(operation)
            case "server error":
                code = "SlowDown" if kind in (Kind.LOOK, Kind.LAY) else "InternalServerError"
                raise error(code, operation, "try again", status=503)
            case "crash before":
                raise Crash
            case "conflict":
                raise conflict(kind, operation)
            case "late landing":
                self._weather.late.append(carry_out)
                raise ReadTimeoutError(endpoint_url="")
            case "slow":
                self.seconds -= self.choices.pick((20, 100, 400))
                return carry_out()
        # The others let the operation happen.
        try:
            found = carry_out()
        except ClientError:
            found = None
        if fault == "crash after":
            raise Crash
        if fault == "lost response":
            raise ReadTimeoutError(endpoint_url="")
        assert fault == "repeated request", fault
        self._give_turn()
        return carry_out() if found is None or kind is not Kind.TRANSACTION else found

    def _give_turn(self) -> None:
        hub = self._turns.parent
        assert hub is not None
        hub.switch()

    def run(self) -> None:
        """The greenlet's body."""
        try:
            self.outcome = self._work(self)
        except (Crash, Exception) as failure:
            self.failure = failure
        self.finished = True


class _Turns(greenlet):
    """A greenlet that knows its actor."""

    def __init__(self, actor: Actor) -> None:
        super().__init__(actor.run)
        self.actor = actor


def acting() -> Actor | None:
    """The actor whose turn it is, or None: nobody's code runs but the test's."""
    return getattr(getcurrent(), "actor", None)


def throttled(operation: str) -> ClientError:
    """Too many requests."""
    return error("ProvisionedThroughputExceededException", operation, "slow down")


def conflict(kind: Kind, operation: str) -> ClientError:
    """Another transaction, or another creation of that object, is under way."""
    if kind is Kind.TRANSACTION:
        return cancelled([{"Code": "TransactionConflict"}])
    if kind is Kind.LAY:
        return error("ConditionalRequestConflict", operation, "under way", status=409)
    return error("TransactionConflictException", operation, "under way")
