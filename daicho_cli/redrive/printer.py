"""The result of a redrive, and the work that is left: summed up, and printed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from daicho.redrive.redrive import MAX_RECOUNTS

Answer = dict[str, Any]
"""An answer of the function, or an entry of one of its lists: JSON values."""


@dataclass
class RedriveTotals:
    """The sum of all answers; claims, discarded batches and recounts are the remaining work."""

    applied: int = 0
    already_done: int = 0
    uncertain: int = 0
    claims: list[Answer] = field(default_factory=list)
    discarded: list[Answer] = field(default_factory=list)
    recount: list[Answer] = field(default_factory=list)

    @property
    def is_work_left(self) -> bool:
        """Whether anything waits: for a fix, for a recount, or for another command."""
        return bool(self.claims or self.discarded or self.recount)


def print_report(totals: RedriveTotals, *, applied: bool) -> None:
    """Print a table for each kind of remaining work, and a summary line."""
    console = Console()
    for title, columns, rows in (
        ("Quarantined", _CLAIMS, [_format_claim(claim) for claim in totals.claims]),
        ("Discarded by Lambda", _BATCHES, [_format_batch(batch) for batch in totals.discarded]),
        (
            "Tallies to recount: these records may or may not be counted",
            _TALLIES,
            [_format_tally(tally) for tally in totals.recount],
        ),
    ):
        if rows:
            table = Table(title=title, title_justify="left")
            for column in columns:
                table.add_column(column, overflow="fold")
            for row in rows:
                table.add_row(*map(Text, row))  # plain text: brackets in a key are no markup
            console.print(table)
    console.print(_summarise(totals, applied=applied), highlight=False)


_CLAIMS = ("state", "entity", "item", "error", "since", "record")
_BATCHES = ("records", "discarded for", "since", "left for", "object")
_TALLIES = ("tally", "undecided records", "since")


def _format_claim(claim: Answer) -> tuple[str, ...]:
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


def _format_batch(batch: Answer) -> tuple[str, ...]:
    return (
        str(batch.get("records", "?")),
        batch.get("condition", "?"),
        _format_instant(batch.get("at", "?")),
        batch.get("error", ""),
        batch["name"],
    )


def _format_tally(tally: Answer) -> tuple[str, ...]:
    return (tally["tally"], str(len(tally["numbers"])), _format_instant(tally["since"]))


def _summarise(totals: RedriveTotals, *, applied: bool) -> str:
    parts = []
    if applied:
        parts.append(f"{totals.applied:,} applied")
        if totals.already_done:
            parts.append(f"{totals.already_done:,} were done already")
        if totals.uncertain:
            parts.append(f"{totals.uncertain:,} of them could not be counted")
    more = " or more" if len(totals.recount) >= MAX_RECOUNTS else ""
    counts = [
        f"{len(entries):,}{more if entries is totals.recount else ''} {name}"
        for entries, name in (
            (totals.claims, "records"),
            (totals.discarded, "discarded batches"),
            (totals.recount, "tallies to recount"),
        )
        if entries
    ]
    parts.append(f"left: {', '.join(counts)}" if counts else "nothing is left")
    return "; ".join(parts)


def _format_instant(instant: str) -> str:
    return instant[:19].replace("T", " ")
