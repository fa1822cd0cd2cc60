"""``daicho archive verify``: compare every deletion of a period with the archive."""

from __future__ import annotations

import datetime as dt
import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from daicho.archive.reader import DayRange, Selection
from daicho.archive.verification_report import KINDS, VerifyReport
from daicho.archive.verifier import Verifier
from daicho_cli.archive import options
from daicho_cli.archive.options import LOCAL, Entities, OptionError, StackFile, Stage
from daicho_cli.archive.session import (
    FOUND,
    SOUND,
    ArchiveSession,
    end_on_errors,
    print_message,
    show_progress,
)

DAYS = 3
MAX_DAYS = 3660
SHOWN = 200


def verify(  # the command's options
    entity: Entities = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="DAY", help=f"The first day of deletion. Default: {DAYS} days."),
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="DAY", help="The last. Default: today (UTC).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document, no table.")] = False,
    stage: Stage = None,
    stack: StackFile = LOCAL,
) -> None:
    """Verify the archive of a period: each deletion has its row, once, and nothing else is there.

    Finds gaps, overlaps, objects that are gone, that cannot be read or that nobody archived, rows
    that were edited, doubled or put elsewhere, and deletions that are in no object. Exit code 0:
    all is sound. 1: something was found; the table says where. 2: it could not run.
    """
    with end_on_errors("verify"):
        opened = ArchiveSession.find(stage, stack)
        days = _parse_days(since, until, opened.now().date())
        names = options.parse_entities(opened.ledger, entity)
        if not names:
            # Entities that are no longer declared can have archived objects too.
            names = tuple(sorted({*opened.ledger.archived_types, *opened.archive.list_entities()}))
        total = sum(1 for _ in opened.archive.list_selected(_check_range(names, days)))
        with show_progress(opened, "verifying", total):
            verifier = Verifier(opened.table, opened.archive, now=opened.now)
            report = verifier.verify(days, names)
    if as_json:
        period = {"since": days.first.isoformat(), "until": days.last.isoformat()}
        typer.echo(json.dumps({**period, **report.to_json()}, indent=2, ensure_ascii=False))
    else:
        _show(report, days)
    print_message(f"read: {opened.touched}")
    raise typer.Exit(SOUND if report.is_sound else FOUND)


def _parse_days(since: str | None, until: str | None, today: dt.date) -> DayRange:
    """The days of the period: from the first to the last, both inclusive."""
    first, last = _parse_day(since, "--since"), _parse_day(until, "--until")
    if last is None:
        last = max(today, first or today)
    if first is None:
        first = last - dt.timedelta(days=DAYS - 1)
    if first > last:
        raise OptionError(f"--since {first} is behind --until {last}")
    if (last - first).days >= MAX_DAYS:
        raise OptionError(f"{first} to {last} are over {MAX_DAYS} days: verify them by parts")
    return DayRange(first, last)


def _parse_day(text: str | None, option: str) -> dt.date | None:
    if text is None:
        return None
    try:
        day = dt.date.fromisoformat(text)
    except ValueError as error:
        raise OptionError(f"{option} {text!r} is no day: 2026-11-21") from error
    options.clamp_to_retention(day, option)
    return day


def _check_range(entities: tuple[str, ...], days: DayRange) -> Selection:
    """The partitions that are verified."""
    begin = dt.datetime.combine(days.first, dt.time(), dt.UTC)
    end = dt.datetime.combine(days.last, dt.time(), dt.UTC) + dt.timedelta(days=1)
    return Selection(entities, since=begin, until=end)


def _show(report: VerifyReport, days: DayRange) -> None:
    if report.findings:
        table = Table(title="Not as it should be", title_justify="left")
        for column in ("what", "where", "detail"):
            table.add_column(column, overflow="fold")
        for finding in report.findings[:SHOWN]:
            table.add_row(finding.kind, Text(finding.name), Text(finding.detail))
        Console().print(table)
        for kind in dict.fromkeys(mismatch.kind for mismatch in report.findings):
            typer.echo(f"{kind}: {KINDS[kind]}")
        if len(report.findings) > SHOWN:
            typer.echo(f"… and {len(report.findings) - SHOWN:,} more (--json has them all)")
    counts = report.counts
    typer.echo(
        f"{days.first} to {days.last}: {counts.deletions:,} deletions, {counts.rows:,} rows in "
        f"{counts.objects:,} objects of {counts.chains:,} chains"
    )
    for name, meaning in _OF_THEM.items():
        if count := getattr(counts, name):
            typer.echo(f"  {count:,} {meaning}")
    total = report.mismatches
    typer.echo("sound" if report.is_sound else f"{total:,} finding{'s' if total > 1 else ''}")


_OF_THEM = {
    "raw": "rows that the model could not read, kept as they are",
    "redriven": "rows came by a redrive",
    "there": "rows of batches that Lambda gave up were there already when they were redriven",
    "sides": "rows lie beside their chain, by a redrive",
    "forgotten": "rows were taken out for a tenant that is forgotten",
    "under_way": "deletions of the last hour are not archived yet",
}
