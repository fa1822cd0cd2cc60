"""``make bench-bounds``: the most expensive requests that were found, without bounds and with them.

The exit status is 1 if one takes more than the bounds, its refusal more than 0.25 s of CPU, or its
answer more than 1 s.
"""

from __future__ import annotations

import os
import sys

from rich.console import Console
from rich.table import Table

from daicho.runtime.bounds import DEFAULT_BOUNDS
from tests.support.attacks import ATTACKS, AttackedApi
from tests.support.deployment import serving_on
from tests.support.dynoxide import client, serving

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
    print(
        f"misses: {misses} (at most {DEFAULT_BOUNDS.read_units} read units, "
        f"{DEFAULT_BOUNDS.write_units} write units, "
        f"{MOST_REFUSAL_S} s of a refusal, {MOST_ANSWER_S} s of an answer)"
    )
    return int(misses > 0)


if __name__ == "__main__":
    sys.exit(main())
