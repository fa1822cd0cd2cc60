"""``make bench-restore``: restores of a table, beside their targets.

Tables are restored to random moments in the simulator, both ways. The stream is off for 30 hours.
A large table is moved back. On a local stack under load, a tenant is moved back, and a lost table
is replaced. The exit status is 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from rich.console import Console

from bench.restore.local_trial import measure_local_stack
from bench.restore.outage_trial import measure_outage
from bench.restore.simulator_trial import measure_schedules
from bench.restore.size_trial import measure_items
from bench.speed.figures import Figure, print_figures

ITEMS, RESTORES = 20_000, 100
PARTS = ("schedules", "outage", "items", "local")


def main() -> int:
    """Run the trials and print their figures; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=ITEMS)
    parser.add_argument("--restores", type=int, default=RESTORES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", choices=PARTS, help="one of the trials alone")
    given = parser.parse_args()
    began = time.monotonic()
    trials: Mapping[str, Callable[[], Iterator[Figure]]] = {
        "schedules": partial(measure_schedules, given.restores, given.seed),
        "outage": measure_outage,
        "items": partial(measure_items, given.items),
        "local": measure_local_stack,
    }
    figures = list[Figure]()
    for name, measure in trials.items():
        if given.part in (None, name):
            start = time.monotonic()
            figures += measure()
            sys.stderr.write(f"{name}: {time.monotonic() - start:.0f} s\n")
    title = f"Restores: {given.restores} each way simulated, {given.items:,} items moved back"
    return print_figures(Console(width=130), title, figures, time.monotonic() - began)


if __name__ == "__main__":
    sys.exit(main())
