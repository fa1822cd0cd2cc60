"""``make bench-rebuild``: what a rebuild answers, beside its targets.

The handlers of projector and rollup run in one process over Dynoxide and its stream, and the steps
of the rebuild in another one. The exit status is 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table as Printed

from bench.rebuild.items import Sizes
from bench.rebuild.live_trial import KILLS, LEAST_READINGS, LiveResult, LiveTrial
from bench.rebuild.stage import Stage
from tests.support.dynoxide import client, create_table, serving

SAY_INTERVAL_S = 5.0
console = Console(width=120)


@dataclass(frozen=True)
class Figure:
    """A measured value beside its target."""

    what: str
    measured: str
    target: str
    is_met: bool


def main() -> int:
    """Run the trial and print its figures; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--divide", type=int, default=1, help="divide the numbers of items")
    divide = parser.parse_args().divide
    whole = Sizes()
    sizes = Sizes(*(size // divide for size in vars(whole).values()))
    began = time.monotonic()
    say = make_progress(began)
    with serving() as endpoint:
        os.environ["AWS_ENDPOINT_URL"] = endpoint
        stage = Stage(endpoint, create_table(client(endpoint)))
        figures = [*list_live_figures(LiveTrial(stage, sizes, say).run())]
    print_figures(figures, sizes, time.monotonic() - began)
    return int(not all(figure.is_met for figure in figures))


def make_progress(began: float) -> Callable[[str], None]:
    """A function that prints a line of progress now and then, with the time."""
    last = -SAY_INTERVAL_S

    def say(text: str) -> None:
        nonlocal last
        now = time.monotonic() - began
        if now >= last + SAY_INTERVAL_S:
            last = now
            console.print(f"[{now:4.0f} s] {text}", highlight=False, markup=False)

    return say


def list_live_figures(result: LiveResult) -> Iterator[Figure]:
    """The answers during the rebuild and after it."""
    yield Figure("kills of the rebuild", f"{result.kills}", f"{KILLS}", result.kills == KILLS)
    is_written = result.old_written > 0 and result.written > result.old_written
    written = f"{result.old_written:,} and {result.written - result.old_written:,}"
    yield Figure("writes of old and of new code meanwhile", written, "both", is_written)
    readings = sum(result.readings.values())
    yield Figure(
        "readings by eight readers",
        ", ".join(f"{count:,} {kind}" for kind, count in sorted(result.readings.items())),
        f"at least {LEAST_READINGS:,}",
        readings >= LEAST_READINGS,
    )
    wrong = result.readings.get("wrong", 0) + result.readings.get("no answer", 0)
    yield Figure("wrong readings, or none", f"{wrong}", "0", wrong == 0)
    for declaration, checked in result.checked.items():
        differences = result.differences[declaration]
        yield Figure(
            f"{declaration}: wrong of {checked} answers at the end",
            f"{differences}",
            "0",
            differences == 0,
        )
    for example in result.wrong:
        console.print(f"wrong: {example}", highlight=False, markup=False)


def print_figures(figures: list[Figure], sizes: Sizes, seconds: float) -> None:
    """Print each figure beside its target."""
    printed = Printed("figure", "measured", "target", "met")
    printed.title = (
        f"A rebuild of {sizes.events:,} events, {sizes.sales:,} sales, {sizes.persons:,} persons "
        f"and {sizes.follows:,} edges; {seconds:.0f} s in all"
    )
    for figure in figures:
        printed.add_row(
            figure.what, figure.measured, figure.target, "yes" if figure.is_met else "NO"
        )
    console.print(printed)


if __name__ == "__main__":
    sys.exit(main())
