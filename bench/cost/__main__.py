"""``make bench-cost``: a mixed run over every domain, and the estimate of it.

The exit status is 1 if the estimate of a domain, or of all together, differs by more than 5 %.
"""

from __future__ import annotations

import sys
import time
import tomllib
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path

from rich.console import Console
from rich.table import Table as Printed

from bench.cost.mixed_run import MixedRun
from daicho_cli.cost.estimate import STACK, Estimate, estimate_units
from daicho_cli.cost.traffic import parse_traffic
from daicho_cli.cost.units import Units
from daicho_cli.cost.writes import describe_entities
from tests.support.dynoxide import serving

TRAFFIC = Path(__file__).with_name("traffic.toml")
MOST_DIFFERENCE = 0.05
SHARED = {"carts": "carts, orders", "orders": "carts, orders"}
"""Domains whose items are written in one transaction, the checkout, are compared together."""
Place = tuple[str, str]
"""An entity and a kind of work."""
console = Console(width=110)


def main() -> int:
    """Play the run, and print its units beside the estimate; returns the exit status."""
    began = time.monotonic()
    traffic = parse_traffic(tomllib.loads(TRAFFIC.read_text("utf-8")))
    with serving() as endpoint:
        run = MixedRun(endpoint, traffic)
        run.prepare()
        run.play()
    shapes = describe_entities(run.daicho.entities, run.ledger)
    estimate = estimate_units(run.ledger, traffic, shapes)
    domains = {
        entity.__name__: SHARED.get(domain.name, domain.name)
        for domain in run.daicho.domains
        for entity in domain.entities
    }
    metered: dict[Place, Units] = {
        place: units for place, units in run.meter.units.items() if place[0]
    }
    if "--details" in sys.argv:
        _compare(
            "Entity and kind of work",
            _sum_units(metered, ": ".join),
            _sum_lines(estimate, ": ".join),
        )
    by_work = _compare(
        "Kind of work",
        _sum_units(metered, lambda place: place[1]),
        _sum_lines(estimate, lambda line: line[1]),
    )
    by_domain = _compare(
        "Domain",
        _sum_units(metered, lambda place: domains.get(place[0], STACK)),
        _sum_lines(estimate, lambda line: domains.get(line[0], STACK)),
    )
    console.print(
        f"largest difference of a domain or of the sum: {by_domain:.1%} (at most "
        f"{MOST_DIFFERENCE:.0%}); of a kind of work: {by_work:.1%}; "
        f"{time.monotonic() - began:.0f} s"
    )
    return int(by_domain > MOST_DIFFERENCE)


def _sum_units(metered: Mapping[Place, Units], name: Callable[[Place], str]) -> Mapping[str, Units]:
    sums: defaultdict[str, Units] = defaultdict(Units)
    for place, units in metered.items():
        sums[name(place)] += units
    return sums


def _sum_lines(estimate: Estimate, name: Callable[[Place], str]) -> Mapping[str, Units]:
    sums: defaultdict[str, Units] = defaultdict(Units)
    for line in estimate.lines:
        if line.work == "times":  # heartbeats follow from minutes that pass, and none do here
            continue
        sums[name((line.entity, line.work))] += line.units
    return sums


def _compare(title: str, metered: Mapping[str, Units], estimated: Mapping[str, Units]) -> float:
    """Print both beside each other; returns the largest difference."""
    printed = Printed(title, title=f"{title}: metered and estimated units")
    for column in ("written", "estimated", "differs", "read", "estimated", "differs", "at most"):
        printed.add_column(column, justify="right")
    names = sorted(metered.keys() | estimated.keys())
    sums = [sum((units[name] for name in names), Units()) for units in (metered, estimated)]
    largest = 0.0
    rows = [(name, metered[name], estimated[name]) for name in names]
    for name, actual, expected in (*rows, ("sum", sums[0], sums[1])):
        cells: list[str] = []
        for kind in ("write", "read"):
            one, other = getattr(actual, kind), getattr(expected, kind)
            differs = abs(other - one) / one if one else float(other > 0)
            largest = max(largest, differs)
            cells += [f"{one:,.1f}", f"{other:,.1f}", f"{differs:.1%}"]
        printed.add_row(name, *cells, f"{MOST_DIFFERENCE:.0%}")
    console.print(printed)
    return largest


if __name__ == "__main__":
    sys.exit(main())
