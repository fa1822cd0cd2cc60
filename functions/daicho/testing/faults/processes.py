"""Processes that advance one operation at a time, and the faults of each operation.

A process runs the real code in a greenlet that yields before every operation on a store and in
every sleep. So one process can be overtaken by another between any two operations, be abandoned,
or continue as a zombie, and a sequence of choices decides all of it. A process may have several
threads, each a greenlet (`daicho.testing.faults.parallel_work`).
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, TypeVar
from unittest import mock

from botocore.exceptions import ClientError, ReadTimeoutError
from greenlet import getcurrent, greenlet

from daicho.runtime.retry import MAX_PAUSE_S, RetryBudget
from daicho.testing.aws.client_errors import build_cancelled_error, build_error
from daicho.testing.choices import Choices
from daicho.testing.clock import START
from daicho.testing.faults.fault_injector import (
    OBJECT_OPERATIONS,
    TABLE_OPERATIONS,
    FaultInjector,
    OperationKind,
)

T = TypeVar("T")
MAX_STEPS = 10_000
"""Steps of one process; one that takes more never ends. A restore that waits takes 5,100."""


OPERATIONS_PER_SECOND = 20.0
"""An operation takes a process one of its seconds. A caller's retry budget is in real seconds."""


class ProcessKilled(BaseException):
    """The process has ended, with no chance to clean up."""


@dataclass(eq=False, repr=False)
class SimulatedProcess:
    """One invocation of a function, or one request to the API.

    ``code_version``: the version of its code. ``seconds``: the time until its timeout; each
    operation takes one of them. ``began``: when it began. ``fault_counts`` counts what it meets.
    """

    name: str
    work: Callable[[SimulatedProcess], Any]
    _: KW_ONLY
    code_version: int
    seconds: float
    choices: Choices
    faults: FaultInjector
    fault_counts: Counter[str]
    began: dt.datetime = START
    finished: bool = field(default=False, init=False)
    failure: BaseException | None = field(default=None, init=False)
    outcome: Any = field(default=None, init=False)
    operations_until_death: int | None = field(default=None, init=False)
    """Operations after which a record that kills the process does so."""
    next_operation: OperationKind | None = field(default=None, init=False)
    """The operation before which it stops; None if it has not begun."""
    next_call: str = field(default="", init=False)
    """The name of its method of the client."""
    next_key: str = field(default="", init=False)
    """The partition key of the operation, if it has one."""

    def __post_init__(self) -> None:
        self._steps = 0
        self._hub = getcurrent()
        self._is_dead = False
        self._main = _Thread(self, self._run_work, self._hub)
        self._threads = [self._main]
        self._ready = [self._main]

    @property
    def is_overdue(self) -> bool:
        """Whether its timeout is over."""
        return self.seconds <= 0

    def step(self) -> None:
        """Let one of its threads continue until its next operation, or its end."""
        self._steps += 1
        if self._steps >= MAX_STEPS:
            raise AssertionError(f"{self.name} never ends")
        ready = self._ready
        (ready[0] if len(ready) == 1 else self.choices.pick(ready)).switch()
        if self._is_dead and not self.finished:
            self.kill()

    def kill(self) -> None:
        """End it before its next operation."""
        self._is_dead = True
        for thread in reversed(self._threads.copy()):
            if thread:  # it has begun, and has not ended
                thread.throw(ProcessKilled)
        self.finished = True

    def stop_faults(self) -> None:
        """No further operation meets a fault."""
        self.faults = FaultInjector()

    # --- Called by the code that runs in the process -----------------------------------------

    def get_remaining_time_in_millis(self) -> int:
        """The remaining time, as Lambda's context reports it."""
        return max(0, int(self.seconds * 1000))

    def sleep(self, seconds: float) -> None:
        """Let time pass for this process while others continue."""
        self.seconds -= seconds + 0.01
        self._yield_turn()

    def die_after(self, operations: int) -> None:
        """A record kills the process: at once, or after so many operations."""
        if operations == 0:
            raise ProcessKilled
        self.operations_until_death = operations

    def run_threads(self, bodies: Sequence[Callable[[], None]]) -> None:
        """Run functions in threads of the process, and return when all of them have ended.

        Only the main thread may call it. If a thread is killed, the process ends.
        """
        threads = [_Thread(self, body, self._hub) for body in bodies]
        self._threads += threads
        # The main thread waits: it is ready again when it is the only thread that is left.
        self._ready[:] = threads
        self._hub.switch()

    def perform(
        self,
        kind: OperationKind,
        operation: str,
        key: str,
        carry_out: Callable[[], T],
        carry_out_partly: Callable[[Choices], T] | None = None,
    ) -> T:
        """Perform one operation, with the fault that is drawn for it. ``key``: partition key."""
        self.next_operation, self.next_call, self.next_key = kind, operation, key
        self._yield_turn()
        self.faults.land_late_requests(self.choices)
        self.seconds -= 1
        if self.operations_until_death is not None:
            if self.operations_until_death == 0:
                raise ProcessKilled
            self.operations_until_death -= 1
        # A throttled key throttles statements of a batch, not the batch (`is_throttled`).
        throttled_key = "" if kind is OperationKind.STATEMENTS else key
        if kind in TABLE_OPERATIONS and self.faults.throttle(throttled_key):
            raise build_throttling_error(operation)
        fault = self.faults.draw_fault(kind, self.choices)
        if not fault:
            return carry_out()
        self.fault_counts[fault] += 1
        if fault in ("unprocessed", "short page") and carry_out_partly is not None:
            return carry_out_partly(self.choices)
        return self._perform_with_fault(fault, kind, operation, key, carry_out)

    def is_throttled(self, key: str) -> bool:
        """Whether a statement of a batch is throttled. ``key``: partition key."""
        if not self.faults.throttle_key(key):
            return False
        self.fault_counts["throttled statement"] += 1
        return True

    def _perform_with_fault(
        self,
        fault: str,
        kind: OperationKind,
        operation: str,
        key: str,
        carry_out: Callable[[], T],
    ) -> T:
        match fault:
            case "throttled table":
                self.faults.throttled_requests = self.choices.pick((0, 3, 40))
                raise build_throttling_error(operation)
            case "throttled key":
                self.faults.throttled_keys[key] = self.choices.pick((0, 3, 40))
                raise build_throttling_error(operation)
            case "server error":
                code = "SlowDown" if kind in OBJECT_OPERATIONS else "InternalServerError"
                raise build_error(code, operation, "try again", status=503)
            case "crash before":
                raise ProcessKilled
            case "conflict":
                raise build_conflict_error(kind, operation)
            case "late landing":
                self.faults.late_requests.append(carry_out)
                raise ReadTimeoutError(endpoint_url="")
            case "slow":
                self.seconds -= self.choices.pick((20, 100, 400))
                return carry_out()
        return self._carry_out_with_fault(fault, kind, carry_out)

    def _carry_out_with_fault(
        self, fault: str, kind: OperationKind, carry_out: Callable[[], T]
    ) -> T:
        """Carry an operation out whose answer is lost, or which is repeated."""
        try:
            answer = carry_out()
        except ClientError:
            answer = None
        if fault == "crash after":
            raise ProcessKilled
        if fault == "lost response":
            raise ReadTimeoutError(endpoint_url="")
        if fault != "repeated request":
            raise AssertionError(f"unknown fault: {fault}")
        self._yield_turn()
        # botocore gives each transaction a token, by which DynamoDB finds that it is a repetition.
        is_idempotent = kind is OperationKind.TRANSACTION
        return answer if answer is not None and is_idempotent else carry_out()

    def _yield_turn(self) -> None:
        if get_running_process() is not self:
            raise AssertionError("an operation outside of its process")
        if self._is_dead:
            raise ProcessKilled
        self._hub.switch()

    def _run_work(self) -> None:
        """The body of the main thread."""
        self.outcome = self.work(self)

    def end_thread(self, thread: _Thread, failure: BaseException | None) -> None:
        """Take note that a thread has ended: the main thread with any failure, others killed."""
        self._threads.remove(thread)
        if thread is self._main:
            self.failure = failure
            self.finished = True
            return
        self._is_dead = self._is_dead or failure is not None
        self._ready.remove(thread)
        if not self._ready:
            self._ready.append(self._main)


class _Thread(greenlet):
    """A greenlet that knows its process. ``hub``: the greenlet that steps the process."""

    def __init__(self, process: SimulatedProcess, body: Callable[[], None], hub: greenlet) -> None:
        super().__init__(self._run_body, hub)
        self.process = process
        self._body = body

    def _run_body(self) -> None:
        failure: BaseException | None = None
        try:
            self._body()
        except (ProcessKilled, Exception) as error:
            failure = error
        self.process.end_thread(self, failure)


def get_running_process() -> SimulatedProcess | None:
    """The process whose code runs now, or None: it is the code of the test."""
    return getattr(getcurrent(), "process", None)


@contextmanager
def simulate_retry_budgets() -> Iterator[None]:
    """Let retries within a process take its time, and those of the test none."""

    def for_seconds(seconds: float, *, longest: float = MAX_PAUSE_S) -> RetryBudget:
        process = get_running_process()
        if process is None:
            return RetryBudget(lambda: 0.0, reserve=0)
        end = process.seconds - seconds * OPERATIONS_PER_SECOND
        return RetryBudget(lambda: process.seconds - end, 0, process.sleep, lambda: 0.9, longest)

    with mock.patch.object(RetryBudget, "for_seconds", for_seconds):
        yield


def build_throttling_error(operation: str) -> ClientError:
    """DynamoDB throttles the request."""
    return build_error("ProvisionedThroughputExceededException", operation, "slow down")


def build_conflict_error(kind: OperationKind, operation: str) -> ClientError:
    """Another transaction on the item, or another creation of the object, is in progress."""
    if kind is OperationKind.TRANSACTION:
        return build_cancelled_error([{"Code": "TransactionConflict"}])
    if kind is OperationKind.OBJECT_WRITE:
        return build_error("ConditionalRequestConflict", operation, "in progress", status=409)
    return build_error("TransactionConflictException", operation, "in progress")
