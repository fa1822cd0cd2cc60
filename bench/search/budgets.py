"""The targets of the search, compared with the measured values."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from bench.search.queries import STEADY, PageUnits, QuestionCosts
from bench.search.report import (
    CONTACTS_OF_A_LOAD,
    SECONDS_OF_A_LOAD,
    UNITS_A_KEY,
    UNITS_A_ROW,
    Growth,
)
from daicho.search.grams import Mode
from daicho.search.pager import UNITS

GROWTH, DEARER = 1.05, 1.1
UNITS_A_QUERY = 2.5
"""Read units of an index query for a page of 100 rows."""

BEYOND = 5.0
WRITES: Mapping[Mode, float] = {"prefix": 40.0, "contains": 130.0}


@dataclass(frozen=True)
class Target:
    """A measured value with an upper limit."""

    what: str
    measured: float
    most: float

    @property
    def met(self) -> bool:
        """Whether it is within the limit."""
        return self.measured <= self.most


def steady(mode: Mode, growths: Iterable[Growth]) -> Iterator[Target]:
    """The cost of keywords with lists of their own is the same at every size."""
    full = [growth for growth in growths if growth.is_full and growth.question.what in STEADY]
    for page in dict.fromkeys(growth.page for growth in full):
        growths_of_page = [growth for growth in full if growth.page == page]
        label = f"by {mode}, page {page}: growth of the"
        yield Target(
            f"{label} read units, at most", max(growth.units for growth in growths_of_page), GROWTH
        )


def page(mode: Mode, answers: Iterable[QuestionCosts]) -> Iterator[Target]:
    """A page costs little more than its rows and one query, at any number of matches."""
    dearest = max(
        cost.units / (cost.rows * UNITS_A_ROW + UNITS_A_QUERY)
        for answer in answers
        if answer.question.what in STEADY
        for cost in answer.ours
    )
    yield Target(f"by {mode}: a page, over its rows and one query of 100", dearest, DEARER)


def others(mode: Mode, size: int, costs: Sequence[PageUnits]) -> Iterator[Target]:
    """The mean cost of keywords of other lengths is little more than the cost of their rows."""
    beyond = [units - rows * UNITS_A_ROW for units, rows, _ in costs]
    label = f"by {mode}, {size:,}: units beyond the rows, {len(costs):,} keywords of other lengths"
    yield Target(f"{label}, mean", statistics.fmean(beyond), BEYOND)
    yield Target(f"{label}, dearest", max(beyond), UNITS)


def writes(mode: Mode, facts: Mapping[str, Any]) -> Iterator[Target]:
    """The write units of a contact, and the load of the busiest key during a load."""
    units, weighed = facts["units"], facts["weighed"]
    yield Target(f"by {mode}: write units of a contact, {weighed:,}", units["mean"], WRITES[mode])
    _, busiest = facts["busiest"][0]
    load = busiest / facts["contacts"] * CONTACTS_OF_A_LOAD / SECONDS_OF_A_LOAD
    yield Target(f"by {mode}: write units a second of the busiest key in a load", load, UNITS_A_KEY)


def show(console: Console, targets: Sequence[Target]) -> bool:
    """Print the targets. Return whether all are met."""
    table = Table(
        *("target", "measured", "at most", ""),
        title="Performance targets",
        box=box.MARKDOWN,
        title_justify="left",
    )
    for target in targets:
        measured, most = (f"{number:,.2f}" for number in (target.measured, target.most))
        table.add_row(target.what, measured, most, "met" if target.met else "MISSED")
    console.print(table)
    return all(limit.met for limit in targets)
