"""``make bench-rebuild``: what a rebuild answers, costs and takes, beside its targets.

The real handlers run over Dynoxide and its stream, each in a process of its own. The exit status is
1 if a target is missed.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table as Printed

from bench.rebuild.cost_trial import Costs, CostTrial
from bench.rebuild.items import Sizes
from bench.rebuild.live_trial import KILLS, LEAST_READINGS, LiveResult, LiveTrial
from bench.rebuild.stage import Stage
from bench.rebuild.workers import SPAWN
from tests.support.dynoxide import client, create_table, serving

MOST_UNITS, MOST_EDGE_UNITS = 1.02, 2.02
"""Base write units for each item that a new aggregate needs touched."""
MOST_DEVIATION = 0.1
"""Of an estimate of ``daicho plan --scan`` from the measured value."""
COST_ITEMS = 3_000
MIXED = Sizes(events=3_000, sales=750, persons=300, follows=300)
RATE, FASTEST = 100.0, 5_000.0
"""Write units a second: of the trial whose time is estimated, and of the others."""
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
    """Run all trials and print their figures; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--divide", type=int, default=1, help="divide the numbers of items of the first trial"
    )
    divide = parser.parse_args().divide
    whole = Sizes()
    sizes = Sizes(*(size // divide for size in vars(whole).values()))
    began = time.monotonic()
    say = make_progress(began)
    with serving() as endpoint:
        os.environ["AWS_ENDPOINT_URL"] = endpoint

        def make_stage() -> Stage:
            return Stage(endpoint, create_table(client(endpoint)))

        trials = {
            "all changes": CostTrial(make_stage(), MIXED, RATE),
            "items": CostTrial(make_stage(), Sizes(COST_ITEMS, 0, 0, 0), FASTEST),
            "edges": CostTrial(make_stage(), Sizes(0, 0, 0, COST_ITEMS), FASTEST),
        }
        # They mostly wait for heartbeats and leases: meanwhile the other trial stores its items.
        with ProcessPoolExecutor(len(trials), mp_context=SPAWN) as pool:
            costs = {name: pool.submit(trial.run) for name, trial in trials.items()}
            live = LiveTrial(make_stage(), sizes, say).run()
            all_costs, items, edges = (costs[name].result() for name in trials)
        figures = [
            *list_cost_figures(*all_costs, items[1], edges[1]),
            *list_live_figures(live),
        ]
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


def list_cost_figures(
    estimated: Costs, measured: Costs, items: Costs, edges: Costs
) -> Iterator[Figure]:
    """Units and time, as estimated and as measured."""
    for what, costs, most in (
        ("new aggregate: write units of the rebuild, each item", items, MOST_UNITS),
        ("the same of an edge", edges, MOST_EDGE_UNITS),
    ):
        units = costs.base_units / COST_ITEMS
        yield Figure(what, f"{units:.3f}", f"at most {most}", units <= most)
    for what, estimate, value in (
        ("write units", estimated.write_units, measured.write_units),
        ("read units", estimated.read_units, measured.read_units),
        (f"seconds of touches at {RATE:.0f} units/s", estimated.seconds, measured.seconds),
    ):
        deviation = abs(estimate - value) / value
        yield Figure(
            f"plan --scan: {what}",
            f"{estimate:,.0f}, measured {value:,.0f} ({deviation:.1%})",
            f"within {MOST_DEVIATION:.0%}",
            deviation <= MOST_DEVIATION,
        )


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
