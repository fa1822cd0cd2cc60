"""Processes of `SimulatedLambda` that run to a chosen operation, or to their end, at once."""

from __future__ import annotations

from collections.abc import Collection

from daicho.testing.faults.fault_injector import WRITES
from daicho.testing.faults.processes import SimulatedProcess
from daicho.testing.faults.simulated_lambda import INVOCATION_S, SimulatedLambda


def run_invocation(running: SimulatedLambda, consumer: str, shard: str) -> float:
    """Run the next invocation of a shard to its end; gives the seconds that it took.

    The poller of the shard stays the same, so retries count as long as the batch fails.
    """
    process = running.invoke(consumer, shard)
    if process is None:
        return 0.0
    process.seconds = INVOCATION_S
    while not process.finished:
        process.step()
    running.settle(process)
    return INVOCATION_S - process.seconds


def stop_before_write(
    running: SimulatedLambda,
    process: SimulatedProcess,
    writes: int,
    calls: Collection[str] = (),
) -> bool:
    """Let a process continue until it has done so many writes and is about to do another.

    ``calls``: the only methods of the clients that count as writes, if any are named.
    False if it ends, or its time is over, before that. A mapping that waits for the process
    gives it up: it is a zombie, or is killed, and is detached if it still exists.
    """
    is_polled = process in running.polled
    while not (process.finished or process.is_overdue):
        if process.next_call in calls if calls else process.next_operation in WRITES:
            if writes == 0:
                break
            writes -= 1
        process.step()
    if process.finished:
        if is_polled:
            running.settle(process)
        else:
            running.end_detached(process)
        return False
    is_at_write = not process.is_overdue
    if is_polled:
        running.time_out(process)
    return is_at_write and process in running.detached
