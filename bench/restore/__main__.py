"""``make bench-restore``: restores of a table, beside their targets.

Tables are restored to random moments in the simulator, both ways. A large table is moved back. On a
local stack under load, a tenant is moved back, and a lost table is replaced. The exit status is 1
if a target is missed.
"""

from __future__ import annotations

import argparse
import sys
import time

from rich.console import Console

from bench.restore.local_trial import measure_local_stack
from bench.restore.simulator_trial import measure_schedules
from bench.restore.size_trial import measure_items
from bench.speed.figures import print_figures

ITEMS, RESTORES = 20_000, 100


def main() -> int:
    """Run the trials and print their figures; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=ITEMS)
    parser.add_argument("--restores", type=int, default=RESTORES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-local", action="store_true", help="leave the local stack out")
    given = parser.parse_args()
    began = time.monotonic()
    figures = list(measure_schedules(given.restores, given.seed))
    figures += measure_items(given.items)
    if not given.no_local:
        figures += measure_local_stack()
    title = f"Restores: {given.restores} each way simulated, {given.items:,} items moved back"
    return print_figures(Console(width=130), title, figures, time.monotonic() - began)


if __name__ == "__main__":
    sys.exit(main())
