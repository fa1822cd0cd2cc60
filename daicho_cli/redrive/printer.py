"""Prints the result of a redrive, and the work that is left."""

from __future__ import annotations

from typing import Any, Protocol

from rich.console import Console
from rich.table import Table
from rich.text import Text

from daicho.redrive.redrive import MAX_RECOUNTS

Said = dict[str, Any]


class Report(Protocol):
    """The printed values of a redrive."""

    applied: int
    already_done: int
    uncertain: int
    claims: list[Said]
    discarded: list[Said]
    recount: list[Said]


def show(report: Report, *, applied: bool) -> None:
    """Print a table for each kind of remaining work, and a summary line."""
    console = Console()
    for title, columns, rows in (
        ("Set aside", _CLAIMS, [_format_claim(claim) for claim in report.claims]),
        ("Discarded by Lambda", _BATCHES, [_format_batch(batch) for batch in report.discarded]),
        (
            "To be recounted: nobody can know",
            _TALLIES,
            [_format_tally(tally) for tally in report.recount],
        ),
    ):
        if rows:
            table = Table(title=title, title_justify="left")
            for column in columns:
                table.add_column(column, overflow="fold")
            for row in rows:
                table.add_row(*map(Text, row))  # plain text: brackets in a key are no markup
            console.print(table)
    console.print(_summarise(report, applied=applied), highlight=False)


_CLAIMS = ("state", "entity", "item", "error", "since", "record")
_BATCHES = ("records", "discarded for", "since", "left for", "object")
_TALLIES = ("tally", "undecided records", "since")


def _format_claim(claim: Said) -> tuple[str, ...]:
    number = claim["seq"].rpartition("#")[2].lstrip("0")
    error = claim["error"]
    return (
        claim["state"],
        claim["entity"],
        " ".join(claim["item"] or ()),
        ": ".join(filter(None, (error["type"], error["message"]))),
        _format_instant(claim["at"]),
        f"{claim['shard']} {number}",
    )


def _format_batch(batch: Said) -> tuple[str, ...]:
    return (
        str(batch.get("records", "?")),
        batch.get("condition", "?"),
        _format_instant(batch.get("at", "?")),
        batch.get("error", ""),
        batch["name"],
    )


def _format_tally(tally: Said) -> tuple[str, ...]:
    return (tally["tally"], str(len(tally["numbers"])), _format_instant(tally["since"]))


def _summarise(report: Report, *, applied: bool) -> str:
    parts = []
    if applied:
        parts.append(f"{report.applied:,} applied")
        if report.already_done:
            parts.append(f"{report.already_done:,} were done already")
        if report.uncertain:
            parts.append(f"{report.uncertain:,} of them could not be counted")
    more = " or more" if len(report.recount) >= MAX_RECOUNTS else ""
    left = [
        f"{len(some):,}{more if some is report.recount else ''} {what}"
        for some, what in (
            (report.claims, "records"),
            (report.discarded, "discarded batches"),
            (report.recount, "tallies to recount"),
        )
        if some
    ]
    parts.append(f"left: {', '.join(left)}" if left else "nothing is left")
    return "; ".join(parts)


def _format_instant(instant: str) -> str:
    return instant[:19].replace("T", " ")
