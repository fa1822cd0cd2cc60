"""What the search must not exceed, beside what was measured."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from bench.search.edits import Edit
from bench.search.queries import STEADY
from bench.search.report import (
    CONTACTS_OF_A_LOAD,
    SECONDS_OF_A_LOAD,
    UNITS_A_KEY,
    UNITS_A_ROW,
    Growth,
)
from bench.search.result_file import Asked, Random, Walked
from daicho.search.grams import Mode
from daicho.search.pager import UNITS

GROWTH, SLOWER, DEARER = 1.05, 1.3, 1.1
UNITS_A_QUERY = 2.5
"""Of an index for a page of 100 rows."""

BEYOND = 5.0
WRITES: Mapping[Mode, float] = {"prefix": 40.0, "contains": 130.0}


@dataclass(frozen=True)
class Target:
    """Something measured that has an upper limit."""

    what: str
    measured: float
    most: float

    @property
    def met(self) -> bool:
        """Whether it is within the limit."""
        return self.measured <= self.most


def steady(mode: Mode, grown: Iterable[Growth]) -> Iterator[Target]:
    """Keywords that have lists of their own take the same at every size."""
    full = [each for each in grown if each.is_full and each.question.what in STEADY]
    for page in dict.fromkeys(each.page for each in full):
        here = [each for each in full if each.page == page]
        said = f"by {mode}, page {page}: growth of the"
        yield Target(f"{said} read units, at most", max(each.units for each in here), GROWTH)
        times = [each.time for each in here if each.time is not None]
        if times:
            yield Target(f"{said} median time, at most", max(times), SLOWER)


def page(mode: Mode, asked: Iterable[Asked]) -> Iterator[Target]:
    """And little more than their rows and a query, however many match."""
    dearest = max(
        cost.units / (cost.rows * UNITS_A_ROW + UNITS_A_QUERY)
        for each in asked
        if each.question.what in STEADY
        for cost in each.ours
    )
    yield Target(f"by {mode}: a page, over its rows and one query of 100", dearest, DEARER)


def others(mode: Mode, size: int, costs: Sequence[Random]) -> Iterator[Target]:
    """Keywords of other lengths take little more in the mean."""
    beyond = [units - rows * UNITS_A_ROW for units, rows, _ in costs]
    said = f"by {mode}, {size:,}: units beyond the rows, {len(costs):,} keywords of other lengths"
    yield Target(f"{said}, mean", statistics.fmean(beyond), BEYOND)
    yield Target(f"{said}, dearest", max(beyond), UNITS)


def walks(mode: Mode, found: Iterable[Walked]) -> Iterator[Target]:
    """Two words that hardly meet stay within a page's budget, to the end."""
    yield Target(
        f"by {mode}: units of a page of two words that hardly meet",
        max(worst for *_, worst in found),
        UNITS + 100 * UNITS_A_ROW,
    )


def writes(mode: Mode, facts: Mapping[str, Any]) -> Iterator[Target]:
    """Writing a contact, and the busiest key while many are loaded."""
    units, weighed = facts["units"], facts["weighed"]
    yield Target(f"by {mode}: write units of a contact, {weighed:,}", units["mean"], WRITES[mode])
    _, busiest = facts["busiest"][0]
    load = busiest / facts["contacts"] * CONTACTS_OF_A_LOAD / SECONDS_OF_A_LOAD
    yield Target(f"by {mode}: write units a second of the busiest key in a load", load, UNITS_A_KEY)


def renaming(edits: Sequence[Edit]) -> Iterator[Target]:
    """Renaming a category rewrites nothing of its contacts."""
    renamed = edits[-1]
    yield Target(f"write units where {renamed.what}", renamed.base + renamed.derived, 1.0)


def show(console: Console, targets: Sequence[Target]) -> bool:
    """Print them; gives whether all are met."""
    table = Table(
        *("target", "measured", "at most", ""),
        title="Targets",
        box=box.MARKDOWN,
        title_justify="left",
    )
    for each in targets:
        measured, most = (f"{number:,.2f}" for number in (each.measured, each.most))
        table.add_row(each.what, measured, most, "met" if each.met else "MISSED")
    console.print(table)
    return all(each.met for each in targets)
