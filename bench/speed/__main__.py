"""``make bench``: each part measures figures beside named peers, in a process of its own.

The exit status is 1 if a figure misses its threshold.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from rich.console import Console

from bench.speed.figures import Figure, measure_part, print_figures

PARTS: dict[str, str] = {
    "projector": "Processor time of the projector, for each record",
    "requests": "Requests to DynamoDB, against a boto3 client",
    "start": "Start of the functions, against a bare boto3 client",
    "api": "API: routes against a hand-written handler",
}
"""What each part measures, by the name of its module."""
console = Console(width=130)


def main() -> int:
    """Measure the chosen parts, or all; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="the parts; all by default")
    given = parser.parse_args()
    measured: dict[str, list[Figure]] = {}
    began_all = time.monotonic()
    for name in given.parts or PARTS:
        began = time.monotonic()
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            figures = pool.submit(measure_part, name).result()
        print_figures(console, PARTS[name], figures, time.monotonic() - began)
        measured[name] = figures
    missed = sum(not figure.is_met for figures in measured.values() for figure in figures)
    result = f"{missed} figures missed" if missed else "all figures met"
    console.print(f"{result}, after {time.monotonic() - began_all:.0f} s")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
