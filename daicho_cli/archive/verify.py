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
from daicho_cli.archive.session import (
    ArchiveSession,
    AsJson,
    Entities,
    check_year,
    parse_entities,
    show_progress,
)
from daicho_cli.options import LOCAL, StackFile, Stage
from daicho_cli.terminal import INCOMPLETE, SUCCESS, OptionError, end_on_errors, print_message

DAYS = 3
MAX_DAYS = 3660
MAX_PRINTED_FINDINGS = 200


def verify(  # the command's options
    entity: Entities = None,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="DAY", help=f"The first day of deletion. Default: the last {DAYS} days."
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(metavar="DAY", help="The last day of deletion. Default: today (UTC)."),
    ] = None,
    as_json: AsJson = False,
    stage: Stage = None,
    stack: StackFile = LOCAL,
) -> None:
    """Verify that each deletion of a period has one archived row, and that no other rows exist.

    Findings are gaps, overlaps, objects that are missing, unreadable or foreign, rows that were
    edited, doubled or moved, and deletions without a row. Exit code 0: no findings. 1: findings,
    which are listed. 2: the command could not run.
    """
    with end_on_errors("archive verify"):
        session = ArchiveSession.find(stage, stack)
        days = _parse_days(since, until, session.now().date())
        names = parse_entities(session.ledger, entity)
        if not names:
            # Entities that are no longer declared can have archived objects too.
            names = tuple(
                sorted({*session.ledger.archived_types, *session.archive.list_entities()})
            )
        total = sum(1 for _ in session.archive.list_selected(_select_days(names, days)))
        with show_progress(session, "verifying", total):
            verifier = Verifier(session.table, session.archive, now=session.now)
            report = verifier.verify(days, names)
    if as_json:
        period = {"since": days.first.isoformat(), "until": days.last.isoformat()}
        typer.echo(json.dumps({**period, **report.to_json()}, indent=2, ensure_ascii=False))
    else:
        _print_report(report, days)
    print_message(f"read: {session.reads}")
    raise typer.Exit(SUCCESS if report.is_sound else INCOMPLETE)


def _parse_days(since: str | None, until: str | None, today: dt.date) -> DayRange:
    """The days of the period: from the first to the last, both inclusive."""
    first, last = _parse_day(since, "--since"), _parse_day(until, "--until")
    if last is None:
        last = max(today, first or today)
    if first is None:
        first = last - dt.timedelta(days=DAYS - 1)
    if first > last:
        raise OptionError(f"--since {first} is after --until {last}")
    if (last - first).days >= MAX_DAYS:
        raise OptionError(f"{first} to {last} are over {MAX_DAYS} days: verify them in parts")
    return DayRange(first, last)


def _parse_day(text: str | None, option: str) -> dt.date | None:
    if text is None:
        return None
    try:
        day = dt.date.fromisoformat(text)
    except ValueError as error:
        raise OptionError(f"{option} {text!r} is no day: 2026-11-21") from error
    check_year(day, option)
    return day


def _select_days(entities: tuple[str, ...], days: DayRange) -> Selection:
    """The partitions that are verified."""
    begin = dt.datetime.combine(days.first, dt.time(), dt.UTC)
    end = dt.datetime.combine(days.last, dt.time(), dt.UTC) + dt.timedelta(days=1)
    return Selection(entities, since=begin, until=end)


def _print_report(report: VerifyReport, days: DayRange) -> None:
    if report.findings:
        table = Table(title="Findings", title_justify="left")
        for column in ("kind", "object", "detail"):
            table.add_column(column, overflow="fold")
        for finding in report.findings[:MAX_PRINTED_FINDINGS]:
            table.add_row(finding.kind, Text(finding.name), Text(finding.detail))
        Console().print(table)
        for kind in dict.fromkeys(mismatch.kind for mismatch in report.findings):
            typer.echo(f"{kind}: {KINDS[kind]}")
        if len(report.findings) > MAX_PRINTED_FINDINGS:
            typer.echo(
                f"… and {len(report.findings) - MAX_PRINTED_FINDINGS:,} more (--json has them all)"
            )
    counts = report.counts
    typer.echo(
        f"{days.first} to {days.last}: {counts.deletions:,} deletions, {counts.rows:,} rows in "
        f"{counts.objects:,} objects of {counts.chains:,} chains"
    )
    for name, meaning in _MEANINGS.items():
        if count := getattr(counts, name):
            typer.echo(f"  {count:,} {meaning}")
    total = report.mismatches
    typer.echo("sound" if report.is_sound else f"{total:,} finding{'s' if total > 1 else ''}")


_MEANINGS = {
    "raw": "rows that the model could not read, archived unchanged",
    "redriven": "rows were added by a redrive",
    "already_archived": "rows of batches that Lambda gave up were archived before the redrive",
    "sides": "rows are in objects beside their chain, added by a redrive",
    "forgotten": "rows were removed for a tenant that is forgotten",
    "under_way": "deletions of the last hour are not archived yet",
}
"""The counts of a report, as they are printed after the number."""
