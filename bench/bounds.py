"""``make bench-bounds``: the most expensive requests that were found, without bounds and with them.

Then the most expensive accepted request to each route of the demonstration, beside the CPU that
`daicho cost --worst` states. The exit status is 1 if one takes more than the bounds, its refusal
more than 0.25 s of CPU, its answer more than 1 s, or a route more than is stated.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from statistics import median

from rich.console import Console
from rich.table import Table

from daicho.runtime.bounds import DEFAULT_BOUNDS
from daicho_cli.cost.worst import list_worst_requests
from tests.support.attacks import ATTACKS, AttackedApi
from tests.support.deployment import Served, serving_on
from tests.support.dynoxide import client, serving
from tests.support.project_routes import PROJECT_ROUTES
from tests.support.worst_requests import WorstRequests

MOST_REFUSAL_S, MOST_ANSWER_S = 0.25, 1.0
COLUMNS = ("request", "", "status", "read units", "write units", "requests", "CPU ms")


def main() -> int:
    """Send each request to an API without bounds and to one with them; returns the exit status."""
    table, misses = Table(*COLUMNS), 0
    os.environ["AWS_LAMBDA_LOG_LEVEL"] = "ERROR"
    with serving() as endpoint, serving_on(endpoint, client(endpoint)) as served:
        for name, attack in ATTACKS.items():
            for bounds in (None, DEFAULT_BOUNDS):
                taken = attack(AttackedApi(served, bounds))
                status, took = taken.answer.status, f"{taken.seconds * 1_000:,.0f}"
                units = f"{taken.read:,.1f}", f"{taken.written:,.1f}", f"{taken.requests:,}"
                table.add_row(name, "with" if bounds else "without", str(status), *units, took)
                if bounds is not None:
                    misses += taken.read > bounds.read_units or taken.written > bounds.write_units
                    misses += taken.seconds > (MOST_REFUSAL_S if status >= 400 else MOST_ANSWER_S)
        Console(width=110).print(table)
        misses += measure_routes(served)
    print(
        f"misses: {misses} (at most {DEFAULT_BOUNDS.read_units} read units, "
        f"{DEFAULT_BOUNDS.write_units} write units, "
        f"{MOST_REFUSAL_S} s of a refusal, {MOST_ANSWER_S} s of an answer)"
    )
    return int(misses > 0)


def measure_routes(served: Served) -> int:
    """Print the processor time of each route's worst request; returns how many take too much.

    What a route takes in its first use is not measured: all requests are sent twice.
    """
    stated = Counter[tuple[str, str]]()
    for each in list_worst_requests(PROJECT_ROUTES.daicho, DEFAULT_BOUNDS):
        route = each.method, each.path
        stated[route] = max(stated[route], each.cpu_ms)
    api = AttackedApi(served, DEFAULT_BOUNDS)
    WorstRequests(api).send_all(served.catch_up)
    worst = WorstRequests(api)
    worst.send_all(served.catch_up)
    took = {
        route: 1_000 * median(each.seconds for each in requests)
        for route, requests in worst.taken.items()
    }
    for route in sorted(took, key=lambda route: stated[route] / took[route])[:10]:
        name = " ".join(route)
        print(f"{name:<50} {took[route]:6.1f} ms of CPU (at most {stated[route]:,} are stated)")
    missed = sum(milliseconds > stated[route] for route, milliseconds in took.items())
    print(f"routes that take more CPU than is stated: {missed} of {len(took)} (at most 0)")
    return missed


if __name__ == "__main__":
    sys.exit(main())
