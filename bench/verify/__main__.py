"""``make bench-verify``: what a verification finds, reads and takes, beside its targets.

The exit status is 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

from rich.console import Console

from bench.rebuild.workers import SPAWN
from bench.speed.figures import Figure, print_figures
from bench.verify.size_trial import SizeResult, run_size_trial
from tests.support.damage_trial import DamageResult, run_clean_trial, run_damage_trial

ITEMS, DAMAGED = 100_000, 50
MOST_SECONDS = 600.0
"""Of a verification of a million items."""
MILLION = 1e6
MOST_BYTES = 1e9
MOST_READ, MOST_GROWTH = 2.0, 1.02
"""Read units an item: each item and each row is read twice, consistently and by its key. And how
many times as many of a table that is four times as large."""
MOST_WRITTEN = 30.0
"""Write units of a repair, for each damaged item, with those of the run itself."""


def main() -> int:
    """Run the trials and print their figures; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=ITEMS, help="items of the larger table")
    parser.add_argument("--part", choices=("size", "damage"), help="one of the trials alone")
    given = parser.parse_args()
    began = time.monotonic()
    figures = list[Figure]()
    if given.part != "damage":
        (small,) = run_size_trial(given.items // 4)
        figures += list_size_figures(small, *run_size_trial(given.items, DAMAGED))
    if given.part != "size":
        figures += run_damage_trials()
    title = f"A verification of {given.items:,} items and as many rows"
    return print_figures(Console(width=130), title, figures, time.monotonic() - began)


def run_damage_trials() -> Iterator[Figure]:
    """What is found of damage of all kinds, and in clean data.

    Each is in a process of its own: the collection of a large heap counts as time that the
    projector computes, and a record that takes too long is set aside.
    """
    with ProcessPoolExecutor(1, mp_context=SPAWN, max_tasks_per_child=1) as pool:
        damage = pool.submit(run_damage_trial).result()
        yield from list_damage_figures(damage, len(pool.submit(run_clean_trial).result()))


def list_size_figures(
    small: SizeResult, clean: SizeResult, repaired: SizeResult, again: SizeResult
) -> Iterator[Figure]:
    """Time, memory, units and findings of the runs."""
    yield Figure(
        "seconds of a million items",
        clean.seconds * MILLION / clean.items,
        "at most",
        MOST_SECONDS,
        "s",
        f"{clean.items:,} items in {clean.seconds:.0f} s",
    )
    yield Figure("peak of memory", clean.bytes, "at most", MOST_BYTES, "bytes")
    read = clean.read_units / clean.items
    yield Figure("read units an item", read, "at most", MOST_READ)
    growth = read / (small.read_units / small.items)
    yield Figure("the same beside a fourth of the items", growth, "at most", MOST_GROWTH, "times")
    yield Figure("findings without damage", clean.found + small.found, "at most", 0)
    wrong = abs(repaired.found - DAMAGED)
    yield Figure("damaged rows that are not found, or other findings", wrong, "at most", 0)
    written = (repaired.write_units - clean.write_units) / DAMAGED
    yield Figure("write units of a repair, each damaged item", written, "at most", MOST_WRITTEN)
    yield Figure("findings after the repair", again.found, "at most", 0)


def list_damage_figures(damage: DamageResult, in_clean_data: int) -> Iterator[Figure]:
    """What is found of damage of all kinds, and in clean data."""
    found = f"{damage.inflicted - len(damage.missed)} of {damage.inflicted} are found"
    writes = f"{damage.writes:,} writes meanwhile"
    yield Figure("kinds of damage that are missed", len(damage.missed), "at most", 0, "", found)
    yield Figure("findings of anything else", len(damage.unexpected), "at most", 0, "", writes)
    left = damage.inflicted - 1 - damage.repaired - damage.decided
    repaired = f"{damage.repaired} repaired, {damage.decided} decided by people"
    yield Figure("findings that nobody repairs", max(left, 0), "at most", 0, "", repaired)
    yield Figure("runs afterwards with an outcome but clean", damage.again != "clean", "at most", 0)
    yield Figure("findings in clean data, with splits and redrives", in_clean_data, "at most", 0)


if __name__ == "__main__":
    sys.exit(main())
