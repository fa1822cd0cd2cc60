"""Threads of a simulated process: greenlets, of which a choice decides who continues.

A handler that writes with a pool of threads runs unchanged. Between any two operations of the
process any of its threads may be the next, so writes overtake each other, and the same choices
always give the same order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from daicho.runtime import retry
from daicho.testing.faults.processes import SimulatedProcess, get_running_process

T = TypeVar("T")
R = TypeVar("R")


class SimulatedThreadPool:
    """The threads that `daicho.runtime.retry.make_mapper` makes: their method `map`."""

    def __init__(self, threads: int) -> None:
        self._threads = threads

    def map(self, work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """The results in the order of the items. An error is raised where its result is due."""
        process = get_running_process()
        tasks = [partial(work, item) for item in items]
        if process is None or len(tasks) < 2:
            return iter([task() for task in tasks])
        process.fault_counts["parallel writes"] += 1
        return _run_in_threads(process, tasks, self._threads)


def _run_in_threads(
    process: SimulatedProcess, tasks: Sequence[Callable[[], Any]], threads: int
) -> Iterator[Any]:
    futures: list[Future[Any]] = [Future() for _ in tasks]
    waiting = deque(zip(futures, tasks, strict=True))

    def run_tasks() -> None:
        while waiting:
            future, task = waiting.popleft()
            try:
                future.set_result(task())
            except Exception as error:
                future.set_exception(error)

    process.run_threads([run_tasks] * min(threads, len(tasks)))
    return (future.result() for future in futures)


@contextmanager
def simulate_threads() -> Iterator[None]:
    """Let pools of threads that are made now run in the simulated process that uses them."""
    original = retry.ThreadPool
    retry.ThreadPool = SimulatedThreadPool  # type: ignore[assignment,misc]  # mock.patch is slow
    try:
        yield
    finally:
        retry.ThreadPool = original  # type: ignore[misc]
