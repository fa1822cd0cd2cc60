"""Delivery in the large: ``python -m tests.delivery.soak``, 20,000 schedules on two processes.

``--first`` is the seed to begin with, so that a run can be gone on with, or added to. Prints how
many schedules met each kind of fault, what differed, and the story of what did, shrunk. The last
line is the figure; ends with 1 if anything differs, or, in a run of full length, if a kind of
fault was met by fewer than 1,000 schedules.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from daicho.testing.faults.fault_kinds import FAULT_KINDS
from daicho.testing.schedules.running import run_schedule
from tests.delivery.schedules.profiles import BY_NAME, build_all_schedules
from tests.delivery.schedules.regressions import describe_failure
from tests.delivery.worlds import likes, tallies
from tests.delivery.worlds.likes import Likes
from tests.delivery.worlds.tallies import Tallies

SCHEDULES = 20_000
LEAST = 1_000
CHUNK = 100
STORIES = 3
SMALL_WORLDS: dict[str, Callable[[int], Likes | Tallies]] = {
    "tallies": tallies.build_schedule,
    "likes": likes.build_schedule,
}
"""The smaller worlds: one tally under rollups and folds, one fast counter that grows."""
EACH = 5
"""Of so many schedules, one is followed by one of each smaller world."""
TELL = 2_000
"""Schedules between two lines, where no progress bar can be drawn."""


@dataclass
class Tally:
    """What some schedules met and found."""

    played: Counter[str] = field(default_factory=Counter)
    beside: Counter[str] = field(default_factory=Counter)
    met: Counter[str] = field(default_factory=Counter)
    recounted: int = 0
    failed: list[tuple[str, int, str]] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Take another one in."""
        self.played.update(other.played)
        self.beside.update(other.beside)
        self.met.update(other.met)
        self.recounted += other.recounted
        self.failed += other.failed


def some(first: int, count: int) -> Tally:
    """Play so many schedules."""
    tally = Tally()
    for schedule in build_all_schedules(count, first):
        differences = run_schedule(schedule)
        tally.played[schedule.profile.name] += 1
        tally.met.update(kind for kind, times in schedule.fault_counts.items() if times)
        tally.recounted += bool(schedule.recount_count)
        if differences:
            tally.failed.append((schedule.profile.name, schedule.seed, differences[0]))
    for seed in range(first, first + count, EACH):
        for name, build_schedule in SMALL_WORLDS.items():
            differences = build_schedule(seed).run()
            tally.beside[name] += 1
            if differences:
                tally.failed.append((name, seed, differences[0]))
    return tally


def all_of(first: int, count: int, processes: int) -> Iterator[Tally]:
    """Play them on some processes; gives what each hundred found as it is done."""
    begins = range(first, first + count, CHUNK)
    with ProcessPoolExecutor(processes) as pool:
        chunks = [pool.submit(some, at, min(CHUNK, first + count - at)) for at in begins]
        for each in as_completed(chunks):
            yield each.result()


def main(arguments: Sequence[str]) -> int:
    """Play, and say what was found; gives the exit status."""
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--schedules", type=int, default=SCHEDULES)
    parser.add_argument("--first", type=int, default=1, help="the seed to begin with")
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args(arguments)
    console, whole, began = Console(), Tally(), time.monotonic()
    with Progress(console=console) as progress:
        task = progress.add_task("schedules", total=asked.schedules)
        for tally in all_of(asked.first, asked.schedules, asked.processes):
            whole.add(tally)
            progress.update(task, advance=sum(tally.played.values()))
            done = sum(whole.played.values())
            if not console.is_terminal and done % TELL == 0:
                sys.stdout.write(f"{done:,} of {asked.schedules:,} schedules\n")
                sys.stdout.flush()
            for name, seed, found in tally.failed:
                console.print(f"{name} {seed}: {found}", markup=False, soft_wrap=True)
    console.print(table_of(whole), _profiles(whole))
    told = [each for each in sorted(whole.failed) if each[0] in BY_NAME]
    for name, seed, _ in told[:STORIES]:
        console.print(describe_failure(name, seed), markup=False, soft_wrap=True)
    rare = [kind for kind in FAULT_KINDS if whole.met[kind] < LEAST]
    if asked.schedules >= SCHEDULES and rare:
        console.print(f"met by fewer than {LEAST:,} schedules: {', '.join(rare)}")
    console.print(
        f"{asked.schedules:,} schedules and {whole.beside.total():,} of the smaller worlds, "
        f"{len(whole.failed):,} differences, {len(FAULT_KINDS)} kinds of "
        f"faults, {whole.recounted:,} schedules with a recount, {time.monotonic() - began:.0f} s",
        soft_wrap=True,
    )
    return int(bool(whole.failed) or (asked.schedules >= SCHEDULES and bool(rare)))


def table_of(tally: Tally) -> Table:
    """How many schedules met each kind of fault."""
    table = Table("fault", "what it is", "schedules", title="Faults")
    for kind, words in FAULT_KINDS.items():
        table.add_row(kind, words, f"{tally.met[kind]:,}")
    table.columns[-1].justify = "right"
    return table


def _profiles(tally: Tally) -> Table:
    table = Table("profile", "schedules", "differences", title="Profiles")
    differ = Counter(name for name, _, _ in tally.failed)
    for name, count in (*sorted(tally.played.items()), *sorted(tally.beside.items())):
        table.add_row(name, f"{count:,}", f"{differ[name]:,}")
    return table


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
