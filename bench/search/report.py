"""Tables of the measured values in Markdown, in the same format as in the docs."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from bench.operations import DOLLARS_A_MILLION_READS, DOLLARS_A_MILLION_WRITES
from bench.search.baseline import PAGE
from bench.search.queries import Cost, PageUnits, Question, QuestionCosts
from daicho.search.grams import Mode

SECONDS_OF_A_LOAD = 600
CONTACTS_OF_A_LOAD = 500_000
UNITS_A_ROW = 0.5
"""Read units of a contact of up to 4 KB, eventually consistent."""

UNITS_A_KEY = 1_000
"""Write units a second of one partition (Amazon DynamoDB, partition throughput)."""

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

    @property
    def units(self) -> float:
        """The ratio of the read units."""
        return self.large.units / self.small.units

    @property
    def is_full(self) -> bool:
        """Whether both pages are full and have the same number.

        Only such pages can be compared.
        """
        return self.large.rows == self.small.rows == PAGE and self.large.page == self.small.page


def pages(mode: Mode, answers: Iterable[QuestionCosts]) -> None:
    """Print the costs of each page."""
    table = _table(
        f"Pages of 100, by {mode}, newest first: Daicho, then the peer",
        *("keyword", "contacts", "page", "rows", "units", "requests", "ms", "p99"),
        *("rows ", "units ", "requests ", "ms ", "p99 ", "ratio of units"),
    )
    for answer in answers:
        for place, cost in enumerate(answer.ours):
            peer = answer.theirs[min(place, len(answer.theirs) - 1)]
            written = (
                f"{answer.question.what} `{answer.question.text}`"
                if answer.question.text
                else "all"
            )
            table.add_row(
                written,
                f"{answer.size:,}",
                str(cost.page),
                str(cost.rows),
                *_numbers(cost),
                str(peer.rows),
                *_numbers(peer),
                f"{peer.units / cost.units:,.1f}" if cost.units else "",
            )
    console.print(table)


def growth(mode: Mode, growths: Sequence[Growth], smallest: int, largest: int) -> None:
    """Print the growth of the costs of pages with the number of contacts."""
    table = _table(
        f"Growth by {mode} from {smallest:,} to {largest:,} contacts (full pages)",
        *(
            "keyword",
            "page",
            "Daicho's units",
            "the peer's units",
            "the peer's time",
        ),
    )
    for comparison in growths:
        if comparison.is_full:
            their_large, their_small = comparison.their_large, comparison.their_small
            peer = (their_large.units / their_small.units, their_large.median / their_small.median)
            numbers = [f"{comparison.units:.2f}", *(f"{number:.1f}" for number in peer)]
            table.add_row(comparison.question.what, comparison.page, *numbers)
    console.print(table)


def figure(answers: Sequence[QuestionCosts], growths: Sequence[Growth]) -> str:
    """The figure: the growth of the costs of pages, and the costs of seed 001's algorithm."""
    sizes = sorted({answer.size for answer in answers})
    full = [comparison for comparison in growths if comparison.is_full]
    parts = []
    for page in dict.fromkeys(comparison.page for comparison in full):
        units = [comparison.units for comparison in full if comparison.page == page]
        parts.append(f"page {page} {statistics.median(units):.2f} (at most {max(units):.2f})")
    everything = next(comparison for comparison in full if not comparison.question.text)
    peer = everything.their_large.units / everything.their_small.units
    ratios = [
        theirs.units / answer.ours[0].units
        for answer in answers
        for theirs in answer.theirs[:1]
        if answer.size == sizes[-1] and answer.ours[0].rows == theirs.rows == PAGE
    ]
    return (
        f"from {sizes[0]:,} to {sizes[-1]:,} contacts Daicho's units grow: {', '.join(parts)}; "
        f"the peer's {peer:.1f} (all contacts); for a full page of {sizes[-1]:,} the peer needs "
        f"{min(ratios):,.1f} to {max(ratios):,.0f} times Daicho's"
    )


def writes(facts_by_mode: Mapping[Mode, Mapping[str, Any]], peers: Mapping[Mode, float]) -> None:
    """Print the write units of a contact, and the cost of a million contacts."""
    table = _table(
        "Write units a contact, with all derived items, without tallies",
        *("search by", "contacts", "derived items", "mean", "p95", "max", "$ a million contacts"),
        "the peer's mean",
    )
    for mode, facts in facts_by_mode.items():
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
    """Print the load of the busiest keys of the index during a load of a tenant's contacts."""
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


def random_keywords(mode: str, size: int, costs: Sequence[PageUnits]) -> None:
    """Print the costs of keywords of other lengths beyond the costs of their rows."""
    beyond = sorted(units - rows * UNITS_A_ROW for units, rows, _ in costs)
    rows = statistics.fmean(rows for _, rows, _ in costs)
    short = sum(count < PAGE and more for _, count, more in costs)
    mean = statistics.fmean(beyond)
    table = _table(
        f"The first page of {len(costs):,} random keywords of other lengths, by {mode}",
        *("contacts", "rows shown", "units beyond the rows: mean", "p99", "max", "short pages"),
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
