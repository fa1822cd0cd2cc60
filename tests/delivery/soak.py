"""Delivery in the large: ``python -m tests.delivery.soak`` plays 20,000 schedules.

``--seed`` and ``--schedules`` choose the schedules: those of so many seeds from one on, each of
which is always the same schedule. ``--schedules 1`` replays one of them, and ``--profile`` plays
the seeds of one profile or small world. A failure is printed with the command that replays it, and
the first failures are shrunk and printed as stories.

Ends with exit status 1 if a threshold of the table of results is missed: if anything differs; if
fewer than 1,000 schedules of a full run met a kind of fault; or if a long run simulates less than
10,000 seconds in a second of processor time.
"""

from __future__ import annotations

import argparse
import gc
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from daicho.testing.schedules.running import Playable, run_schedule
from daicho.testing.schedules.schedule import Schedule
from tests.delivery.schedules.failures import build_replay_command, describe_failure
from tests.delivery.schedules.sources import (
    NAMES,
    SMALL_WORLDS,
    build_named_schedules,
    get_schedule_name,
)
from tests.simulator.faults.proof_fault_kinds import PROOF_FAULT_KINDS

FULL_RUN_SCHEDULES = 20_000
MIN_SCHEDULES_PER_FAULT = 1_000
"""Schedules of a full run that must meet each kind of fault. The shares of the profiles follow from
it: the rarest kinds need the largest ones."""
MIN_MEASURED_SCHEDULES = 1_000
"""Shorter runs are too short for a threshold of their speed."""
MIN_SIMULATED_RATIO = 10_000
MAX_SECONDS_PER_SCHEDULE = 300.0
"""A schedule that is not played by then stands still, and is a failure. The longest ends in 10."""
CHUNK_SCHEDULES = 100
MAX_STORIES = 3
SCHEDULES_PER_LINE = 2_000
"""Schedules between two lines of progress, where no progress bar can be drawn."""


@dataclass(frozen=True)
class Failure:
    """A schedule that differs, and its first difference."""

    name: str
    seed: int
    difference: str


@dataclass
class RunResult:
    """What some schedules met and found.

    Attributes:
        seed_count: the seeds that were played. A seed may be played in small worlds too.
        played: the schedules of each profile and small world.
        fault_schedules: the schedules that met each kind of fault, without small worlds.
        recounted: the schedules of each profile that left a tally to a recount. All others compared
            every total with the recomputation.
        failures: what differed.
        cpu_seconds: processor time of the processes that played.
        simulated_seconds: by which the schedules' clocks advanced.
        simulated_seconds_without_pauses: the same without pauses of an hour or more.
    """

    seed_count: int = 0
    played: Counter[str] = field(default_factory=Counter)
    fault_schedules: Counter[str] = field(default_factory=Counter)
    recounted: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    cpu_seconds: float = 0.0
    simulated_seconds: float = 0.0
    simulated_seconds_without_pauses: float = 0.0

    def add(self, other: RunResult) -> None:
        """Include the result of other schedules."""
        self.seed_count += other.seed_count
        self.played.update(other.played)
        self.fault_schedules.update(other.fault_schedules)
        self.recounted.update(other.recounted)
        self.failures += other.failures
        self.cpu_seconds += other.cpu_seconds
        self.simulated_seconds += other.simulated_seconds
        self.simulated_seconds_without_pauses += other.simulated_seconds_without_pauses

    @property
    def small_world_count(self) -> int:
        """The schedules of small worlds."""
        return sum(self.played[name] for name in SMALL_WORLDS)

    def list_rare_faults(self) -> list[str]:
        """The kinds of faults that too few schedules of a full run met."""
        return [
            kind
            for kind in PROOF_FAULT_KINDS
            if self.fault_schedules[kind] < MIN_SCHEDULES_PER_FAULT
        ]


@dataclass(frozen=True)
class Measure:
    """A line of the table of results. ``threshold``: empty if there is none."""

    name: str
    value: str
    threshold: str = ""
    is_missed: bool = False


class StandsStillError(BaseException):
    """A schedule waits for something that never comes. No code may catch this as an `Exception`."""


def play_in_time(schedule: Playable, seconds: float = MAX_SECONDS_PER_SCHEDULE) -> list[str]:
    """Play a schedule; returns the differences. That it does not end in time is one."""

    def end(*_: object) -> None:
        raise StandsStillError

    previous = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return run_schedule(schedule)
    except StandsStillError:
        return [f"it has not ended after {seconds:g} seconds"]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def play_schedules(seed: int, count: int, profile: str | None, small_worlds: bool) -> RunResult:
    """Play the schedules of ``count`` seeds; see `build_named_schedules`."""
    result, began = RunResult(seed_count=count), time.process_time()
    for schedule in build_named_schedules(seed, count, profile, small_worlds=small_worlds):
        name, differences = get_schedule_name(schedule), play_in_time(schedule)
        result.played[name] += 1
        if isinstance(schedule, Schedule):
            kinds = (kind for kind, times in schedule.fault_counts.items() if times)
            result.fault_schedules.update(kinds)
            result.recounted[name] += bool(schedule.recount_count)
        clock = schedule.deployment.clock
        result.simulated_seconds += clock.advanced_seconds
        result.simulated_seconds_without_pauses += clock.advanced_seconds_without_pauses
        if differences:
            result.failures.append(Failure(name, schedule.seed, differences[0]))
    result.cpu_seconds = time.process_time() - began
    return result


def collect_rarely() -> None:
    """Let the garbage collector of this process run rarely: it takes a seventh of the time."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 10)


def play_in_processes(
    seed: int, count: int, profile: str | None, processes: int
) -> Iterator[RunResult]:
    """Play the schedules of ``count`` seeds on some processes; yields the result of each chunk."""
    small_worlds = count > 1
    if count <= CHUNK_SCHEDULES:
        yield play_schedules(seed, count, profile, small_worlds)
        return
    with ProcessPoolExecutor(processes, initializer=collect_rarely) as pool:
        chunks = [
            pool.submit(
                play_schedules,
                begin,
                min(CHUNK_SCHEDULES, seed + count - begin),
                profile,
                small_worlds,
            )
            for begin in range(seed, seed + count, CHUNK_SCHEDULES)
        ]
        for chunk in as_completed(chunks):
            yield chunk.result()


def measure(result: RunResult, *, is_mixed: bool) -> list[Measure]:
    """The results with their thresholds.

    Coverage is a result of a full run only, and speed has a threshold only in a long one.
    ``is_mixed``: schedules of all profiles were played.
    """
    cpu_seconds = result.cpu_seconds or time.get_clock_info("process_time").resolution
    simulated_ratio = result.simulated_seconds / cpu_seconds
    is_full = is_mixed and result.seed_count >= FULL_RUN_SCHEDULES
    is_measured = is_mixed and result.seed_count >= MIN_MEASURED_SCHEDULES
    differences, rare = len(result.failures), len(result.list_rare_faults())
    coverage = Measure(
        f"kinds of faults met by fewer than {MIN_SCHEDULES_PER_FAULT:,} schedules",
        f"{rare} of {len(PROOF_FAULT_KINDS)}",
        "0",
        rare > 0,
    )
    return [
        Measure("differences", f"{differences:,}", "0", differences > 0),
        *([coverage] if is_full else []),
        Measure(
            "schedules per second of processor time",
            f"{result.played.total() / cpu_seconds:,.0f}",
        ),
        Measure(
            "simulated seconds per second of processor time",
            f"{simulated_ratio:,.0f}",
            f"{MIN_SIMULATED_RATIO:,}" if is_measured else "",
            is_measured and simulated_ratio < MIN_SIMULATED_RATIO,
        ),
        Measure(
            "the same without pauses of an hour or more",
            f"{result.simulated_seconds_without_pauses / cpu_seconds:,.0f}",
        ),
    ]


def build_fault_table(result: RunResult) -> Table:
    """How many schedules met each kind of fault."""
    table = Table("fault", "what it is", "schedules", title="Faults")
    for kind, description in PROOF_FAULT_KINDS.items():
        table.add_row(kind, description, f"{result.fault_schedules[kind]:,}")
    table.columns[-1].justify = "right"
    return table


def build_profile_table(result: RunResult) -> Table:
    """The schedules of each profile and small world, and how many compared every total."""
    table = Table("profile", "schedules", "all totals compared", "differences", title="Profiles")
    differences = Counter(failure.name for failure in result.failures)
    for name in sorted(result.played, key=lambda name: (name in SMALL_WORLDS, name)):
        played = result.played[name]
        compared = played - result.recounted[name]
        table.add_row(name, f"{played:,}", f"{compared:,}", f"{differences[name]:,}")
    return table


def build_result_table(measures: Sequence[Measure]) -> Table:
    """The results beside their thresholds."""
    table = Table("result", "value", "threshold", "", title="Results")
    for line in measures:
        table.add_row(line.name, line.value, line.threshold, "missed" if line.is_missed else "")
    table.columns[1].justify = table.columns[2].justify = "right"
    return table


def play_with_progress(options: argparse.Namespace, console: Console) -> RunResult:
    """Play the schedules of the options, and print progress and failures."""
    result = RunResult()
    chunks = play_in_processes(options.seed, options.schedules, options.profile, options.processes)
    with Progress(console=console, disable=options.schedules == 1) as progress:
        task = progress.add_task("schedules", total=options.schedules)
        for chunk in chunks:
            result.add(chunk)
            progress.update(task, advance=chunk.seed_count)
            if not console.is_terminal and result.seed_count % SCHEDULES_PER_LINE == 0:
                sys.stdout.write(f"{result.seed_count:,} of {options.schedules:,} schedules\n")
                sys.stdout.flush()
            for failure in chunk.failures:
                command = build_replay_command(failure.name, failure.seed)
                text = f"{failure.name} {failure.seed}: {failure.difference}\n  {command}"
                console.print(text, markup=False, soft_wrap=True)
    return result


def parse_options(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(
        prog="soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--schedules", type=int, default=FULL_RUN_SCHEDULES, help="the number of seeds"
    )
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--profile", choices=NAMES, help="play only this profile or small world")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args(arguments)
    if options.seed < 1 or options.schedules < 1 or options.processes < 1:
        parser.error("--seed, --schedules and --processes must be at least 1")
    return options


def main(arguments: Sequence[str]) -> int:
    """Play, and print what was found; returns the exit status."""
    options, console, began = parse_options(arguments), Console(), time.monotonic()
    result = play_with_progress(options, console)
    if options.schedules > 1:
        console.print(build_fault_table(result), build_profile_table(result))
    elif not result.failures:
        (name,) = result.played
        console.print(f"{name} {options.seed}: no difference")
    measures = measure(result, is_mixed=options.profile is None)
    failures = sorted(result.failures, key=lambda failure: (failure.name, failure.seed))
    for failure in failures[:MAX_STORIES]:
        story = describe_failure(failure.name, failure.seed)
        console.print(story, markup=False, soft_wrap=True)
    console.print(build_result_table(measures))
    for line in measures:
        if line.is_missed:
            console.print(f"missed: {line.name}", soft_wrap=True)
    console.print(
        f"seeds {options.seed} to {options.seed + options.schedules - 1}: "
        f"{result.seed_count:,} schedules and {result.small_world_count:,} of the small worlds, "
        f"{len(failures):,} differences, {len(PROOF_FAULT_KINDS)} kinds of faults, "
        f"{result.recounted.total():,} schedules with a recount, {time.monotonic() - began:.0f} s",
        soft_wrap=True,
    )
    return int(any(line.is_missed for line in measures))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
