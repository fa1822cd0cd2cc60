"""``make simulate-votes``: 20,000 votes a second for a minute, over DynamoDB's limits.

The exit status is 1 if exact votes are throttled, or more than 0.05 % of fast ones, if a shard
carries over 1.25 times the mean, or if a total is not the number of accepted votes. A fast poll
opens its slots in the first second, which is not compared with the mean.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from multiprocessing.sharedctypes import Synchronized
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table as Printed

from bench.votes import schemes
from bench.votes.partition_limits import READS_A_SECOND
from bench.votes.schemes import (  # fmt: skip
    POLL,
    RATE,
    SECONDS,
    Outcome,
    Vote,
    adversarial,
    exact,
    fast_votes,
    uniform,
)
from daicho.storage import keys

MOST_UNEVEN = 1.25
MOST_THROTTLED = {"exact": 0.0, "fast": 0.0005}
"""The share of all votes."""
PROCESSES = 2
console = Console(width=120)

Scheme = Callable[[str, Iterator[Vote], Callable[[int], None]], Outcome]
RUNS: tuple[tuple[str, Scheme, str, Callable[[], Iterator[Vote]]], ...] = (
    ("exact", exact, "uniform", uniform),
    ("exact", exact, "adversary", adversarial),
    ("fast", fast_votes, "uniform", uniform),
    ("fast", fast_votes, "adversary", adversarial),
    ("exact, salt known", partial(exact, salt="", counts=False), "adversary", adversarial),
)

_done: list[Synchronized[int]] = []


def main() -> None:
    """Simulate and print."""
    _check_adversary()
    outcomes = _all()
    for (label, _, _, _), outcome in zip(RUNS, outcomes, strict=True):
        outcome.scheme = label
    console.print(_printed(outcomes))
    wrong = list(_wrong(outcomes))
    for message in wrong:
        console.print(f"[red]missed: {message}")
    sys.exit(1 if wrong else 0)


def _all() -> list[Outcome]:
    """All runs, two at a time, with their progress."""
    context = get_context("fork")
    done = [context.Value("i", 0) for _ in RUNS]
    with (
        ProcessPoolExecutor(PROCESSES, context, initializer=_remember, initargs=(done,)) as pool,
        Progress(console=console, transient=True) as progress,
    ):
        bars = [progress.add_task(f"{run[0]}, {run[2]}", total=SECONDS) for run in RUNS]
        futures: list[Future[Outcome]] = [pool.submit(_run, place) for place in range(len(RUNS))]
        while not all(future.done() for future in futures):
            time.sleep(0.5)
            for bar, counted in zip(bars, done, strict=True):
                progress.update(bar, completed=counted.value)
        return [future.result() for future in futures]


def _remember(done: list[Any]) -> None:
    _done[:] = done


def _run(place: int) -> Outcome:
    _, scheme, voters, votes = RUNS[place]

    def progress(second: int) -> None:
        _done[place].value = second

    # In a thread there is no deadline for computing a record: the machine may be busy elsewhere.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(scheme, voters, votes(), progress).result()


def _check_adversary() -> None:
    """Raise an error unless the adversary computes shards as the library does, but for the salt."""
    for number in range(100):
        ours = keys.compute_shard(40, "", POLL, "false", f"mallory {number}")
        if schemes.salted_without(40, f"mallory {number}") != ours:
            raise RuntimeError("the adversary is no match: they do not know the scheme")


def _printed(outcomes: list[Outcome]) -> Printed:
    printed = Printed(
        "scheme", "voters", "accepted", "throttled", "units a vote", "busiest key",
        "shard/mean", "poll reads/s",
        title=f"{RATE:,} votes a second for {SECONDS} seconds: {RATE * SECONDS:,} votes",
    )  # fmt: skip
    for outcome in outcomes:
        units = outcome.units / outcome.accepted
        reads = "" if outcome.poll_reads is None else f"{outcome.poll_reads:,}"
        printed.add_row(
            outcome.scheme, outcome.voters, f"{outcome.accepted:,}", f"{outcome.throttled:,}",
            f"{units:.2f}" if outcome.counted is not None else "",
            f"{max(outcome.most_asked.values()):,}", f"{outcome.unevenness:.2f}", reads,
        )  # fmt: skip
    for column in printed.columns[2:]:
        column.justify = "right"
    printed.columns[0].no_wrap = True
    printed.caption = (
        "busiest key: write units requested of it in its worst second, of 1,000; "
        "shard/mean: votes of the busiest shard's worst second over the mean"
    )
    return printed


def _wrong(outcomes: list[Outcome]) -> Iterator[str]:
    """The missed targets."""
    for outcome in outcomes:
        label = f"{outcome.scheme}, {outcome.voters}"
        if outcome.counted is not None and outcome.counted != outcome.accepted:
            yield f"{label}: {outcome.counted:,} counted of {outcome.accepted:,} accepted"
        if outcome.scheme not in MOST_THROTTLED:
            continue
        most = MOST_THROTTLED[outcome.scheme] * outcome.attempts
        if outcome.accepted + outcome.throttled != RATE * SECONDS or outcome.throttled > most:
            yield f"{label}: {outcome.throttled:,} throttled"
        if outcome.unevenness > MOST_UNEVEN:
            yield f"{label}: a shard carries {outcome.unevenness:.2f} times the mean"
        if (outcome.poll_reads or 0) > READS_A_SECOND:
            yield f"{label}: the poll is read {outcome.poll_reads:,} times a second"


if __name__ == "__main__":
    main()
