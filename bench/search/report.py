"""Tables of what was measured, in Markdown, so that a page of the docs is what was printed."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from bench.operations.__main__ import DOLLARS_A_MILLION_READS, DOLLARS_A_MILLION_WRITES
from bench.search.baseline import PAGE
from bench.search.edits import Edit
from bench.search.queries import Cost, Question
from bench.search.result_file import Asked, Random, Walked
from daicho.search.grams import Mode

SECONDS_OF_A_LOAD = 600
CONTACTS_OF_A_LOAD = 500_000
UNITS_A_ROW = 0.5
"""Read units of a contact of up to 4 KB, eventually consistent."""

UNITS_A_KEY = 1_000
"""Write units a second that one partition takes (Amazon DynamoDB, partition throughput)."""

console = Console(width=170)


@dataclass(frozen=True)
class Growth:
    """A page at the largest size and at the smallest: ours, then seed 001's."""

    question: Question
    page: str
    large: Cost
    small: Cost
    their_large: Cost
    their_small: Cost
    time: float | None = None

    @property
    def units(self) -> float:
        """How much more read units it takes."""
        return self.large.units / self.small.units

    @property
    def is_full(self) -> bool:
        """Whether both pages are full, and equally far down: only these can be compared."""
        return self.large.rows == self.small.rows == PAGE and self.large.page == self.small.page


def pages(mode: Mode, asked: Iterable[Asked]) -> None:
    """What each page took."""
    table = _table(
        f"A page of 100, by {mode}, newest first: ours, then seed 001's way",
        *("keyword", "contacts", "page", "rows", "units", "requests", "ms", "p99"),
        *("rows ", "units ", "requests ", "ms ", "p99 ", "times ours"),
    )
    for each in asked:
        for place, cost in enumerate(each.ours):
            there = each.theirs[min(place, len(each.theirs) - 1)]
            written = (
                f"{each.question.what} `{each.question.text}`" if each.question.text else "all"
            )
            table.add_row(
                written,
                f"{each.size:,}",
                str(cost.page),
                str(cost.rows),
                *_numbers(cost),
                str(there.rows),
                *_numbers(there),
                f"{there.units / cost.units:,.1f}" if cost.units else "",
            )
    console.print(table)


def growth(mode: Mode, grown: Sequence[Growth], smallest: int, largest: int) -> None:
    """How pages grow with the number of contacts."""
    table = _table(
        f"Growth by {mode} from {smallest:,} to {largest:,} contacts (of full pages)",
        *(
            "keyword",
            "page",
            "our units",
            "our time, asked in turns",
            "seed 001's units",
            "median time",
        ),
    )
    for each in grown:
        if each.is_full:
            there, here = each.their_large, each.their_small
            time = "" if each.time is None else f"{each.time:.2f}"
            peer = (there.units / here.units, there.median / here.median)
            numbers = [f"{each.units:.2f}", time, *(f"{number:.1f}" for number in peer)]
            table.add_row(each.question.what, each.page, *numbers)
    console.print(table)


def figure(asked: Sequence[Asked], grown: Sequence[Growth]) -> str:
    """The figure: how pages grow, and what seed 001's way takes."""
    sizes = sorted({each.size for each in asked})
    full = [each for each in grown if each.is_full]
    parts = []
    for page in dict.fromkeys(each.page for each in full):
        units = [each.units for each in full if each.page == page]
        parts.append(f"page {page} {statistics.median(units):.2f} (at most {max(units):.2f})")
    everything = next(each for each in full if not each.question.text)
    peer = everything.their_large.units / everything.their_small.units
    ratios = [
        theirs.units / each.ours[0].units
        for each in asked
        for theirs in each.theirs[:1]
        if each.size == sizes[-1] and each.ours[0].rows == theirs.rows == PAGE
    ]
    return (
        f"from {sizes[0]:,} to {sizes[-1]:,} contacts our units grow: {', '.join(parts)}; "
        f"seed 001's {peer:.1f} (all contacts); for a full page of {sizes[-1]:,} it takes "
        f"{min(ratios):,.1f} to {max(ratios):,.0f} times ours"
    )


def writes(known: Mapping[Mode, Mapping[str, Any]], peers: Mapping[Mode, float]) -> None:
    """What a contact takes to write, and a million of them."""
    table = _table(
        "Write units a contact, with all its derived items (tallies apart)",
        *("search by", "contacts", "derived items", "mean", "p95", "max", "$ a million contacts"),
        "seed 001's mean",
    )
    for mode, facts in known.items():
        units, rows = facts["units"], facts["rows"]
        table.add_row(
            mode,
            f"{facts['weighed']:,}",
            f"{rows['mean']:.1f}",
            f"{units['mean']:.1f}",
            str(units["p95"]),
            str(units["max"]),
            f"{units['mean'] * DOLLARS_A_MILLION_WRITES:.2f}",
            f"{peers[mode]:.1f}",
        )
    console.print(table)


def busiest(mode: Mode, facts: Mapping[str, Any]) -> None:
    """The load of the busiest keys of the index while a tenant's contacts are loaded."""
    rate = CONTACTS_OF_A_LOAD / SECONDS_OF_A_LOAD
    table = _table(
        f"The busiest index keys by {mode} while {CONTACTS_OF_A_LOAD:,} contacts are loaded in "
        f"{SECONDS_OF_A_LOAD // 60} minutes ({rate:.0f} a second)",
        *("key", "rows a contact", "write units a second", f"of {UNITS_A_KEY:,}"),
    )
    for key, many in facts["busiest"]:
        share = many / facts["contacts"]
        load = share * rate
        table.add_row(f"`{key}`", f"{share:.3f}", f"{load:.0f}", f"{load / UNITS_A_KEY:.0%}")
    console.print(table)


def edits(found: Iterable[Edit]) -> None:
    """What one change takes."""
    table = _table(
        "Write units when one thing changes, measured through Book, projector and rollup",
        *("what", "the item", "derived, slots", "rollup", "sum"),
    )
    for each in found:
        units = (each.base, each.derived, each.rollup)
        table.add_row(each.what, *(f"{unit:.2f}" for unit in (*units, sum(units))))
    console.print(table)


def random_keywords(mode: str, size: int, costs: Sequence[Random]) -> None:
    """What keywords of other lengths take beyond the rows that they show."""
    beyond = sorted(units - rows * UNITS_A_ROW for units, rows, _ in costs)
    rows = statistics.fmean(rows for _, rows, _ in costs)
    short = sum(found < PAGE and more for _, found, more in costs)
    mean = statistics.fmean(beyond)
    table = _table(
        f"The first page of {len(costs):,} random keywords of other lengths, by {mode}",
        *("contacts", "rows shown", "units beyond them: mean", "p99", "max", "came short"),
        "$ a million pages",
    )
    dollars = statistics.fmean(units for units, _, _ in costs) * DOLLARS_A_MILLION_READS
    table.add_row(
        f"{size:,}",
        f"{rows:.1f}",
        f"{mean:.2f}",
        f"{beyond[int(len(beyond) * 0.99)]:.1f}",
        f"{beyond[-1]:.1f}",
        str(short),
        f"{dollars:.2f}",
    )
    console.print(table)


def walks(size: int, found: Iterable[Walked]) -> None:
    """Two words that hardly meet, paged to the end."""
    table = _table(
        "To the end of what hardly matches",
        *("keyword", "contacts", "pages", "rows", "units of the dearest page"),
    )
    for question, many, rows, worst in found:
        row = (f"{size:,}", str(many), str(rows), f"{worst:.1f}")
        table.add_row(f"{question.what} `{question.text}`", *row)
    console.print(table)


def _numbers(cost: Cost) -> tuple[str, ...]:
    return (
        f"{cost.units:,.1f}",
        f"{cost.requests:,}",
        f"{cost.median:,.0f}",
        f"{cost.p99:,.0f}" if cost.rounds > 1 else "",
    )


def _table(title: str, *columns: str) -> Table:
    table = Table(*columns, title=title, box=box.MARKDOWN, title_justify="left")
    return table
