"""``daicho archive``: the commands that verify, restore and erase archived items; the group."""

from __future__ import annotations

import datetime as dt
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from daicho.archive.closed_tenants import ClosedTenants
from daicho.archive.forget_requests import ForgetRequest
from daicho.archive.forgetter import ForgetReport, Forgetter
from daicho.archive.reader import DayRange, Selection
from daicho.archive.restorer import Restorer, RestoreReport
from daicho.archive.verifier import KINDS, Verifier, VerifyReport
from daicho.release.commands import CommandAdmission
from daicho.runtime.retry import RetryBudget
from daicho.storage import keys
from daicho.tenants.failed_records import FailedRecordRemover, FailedRecordReport
from daicho_cli.archive.query import query
from daicho_cli.archive.session import (
    Apply,
    ArchiveProgress,
    ArchiveSession,
    Entities,
    KeyParts,
    Since,
    StateFile,
    Tenant,
    Until,
    check_year,
    open_checkpoint,
    parse_entities,
    parse_selection,
    show_progress,
)
from daicho_cli.options import LOCAL, AsJson, StackFile, Stage, check_tenant
from daicho_cli.terminal import (
    COULD_NOT_RUN,
    INCOMPLETE,
    SUCCESS,
    OptionError,
    build_table,
    end_on_errors,
    print_json,
    print_message,
)

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
        print_json({**period, **report.to_json()})
    else:
        _print_findings(report, days)
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
    try:
        day = None if text is None else dt.date.fromisoformat(text)
    except ValueError as error:
        raise OptionError(f"{option} {text!r} is no day: 2026-11-21") from error
    check_year(day, option)
    return day


def _select_days(entities: tuple[str, ...], days: DayRange) -> Selection:
    """The partitions that are verified."""
    begin = dt.datetime.combine(days.first, dt.time(), dt.UTC)
    end = dt.datetime.combine(days.last, dt.time(), dt.UTC) + dt.timedelta(days=1)
    return Selection(entities, since=begin, until=end)


def _print_findings(report: VerifyReport, days: DayRange) -> None:
    if report.findings:
        table = build_table("Findings", ("kind", "object", "detail"))
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
    for name, meaning in _FINDING_COUNTS.items():
        if count := getattr(counts, name):
            typer.echo(f"  {count:,} {meaning}")
    total = report.mismatches
    typer.echo("sound" if report.is_sound else f"{total:,} finding{'s' if total > 1 else ''}")


_FINDING_COUNTS = {
    "raw": "rows that the model could not read, archived unchanged",
    "redriven": "rows were added by a redrive",
    "already_archived": "rows of batches that Lambda gave up were archived before the redrive",
    "sides": "rows are in objects beside their chain, added by a redrive",
    "forgotten": "rows were removed for a tenant that is forgotten",
    "under_way": "deletions of the last hour are not archived yet",
}
"""The counts of a report, as they are printed after the number."""


MAX_PRINTED_ITEMS = 20
_SUMMED_IN_RESTORE = (
    "restored",
    "replaced",
    "already",
    "newer",
    "waiting",
    "failed",
    "unrestorable",
    "broken",
)


def restore(  # noqa: PLR0913, PLR0917  # the command's options
    entity: Entities = None,
    tenant: Tenant = None,
    key: KeyParts = None,
    since: Since = None,
    until: Until = None,
    apply: Apply = False,
    over_newer: Annotated[
        bool, typer.Option("--over-newer", help="Replace live items too.")
    ] = False,
    state: StateFile = None,
    as_json: AsJson = False,
    stage: Stage = None,
    stack: StackFile = LOCAL,
) -> None:
    """Restore archived items by key, tenant or time of deletion. The default is a dry run.

    The newest archived row of each key is restored, with a new expiry. Derived items follow through
    the stream, as after any write. A live item is replaced only with --over-newer. The command may
    be repeated, and continues after an interruption. Exit code 0: all selected items are restored.
    1: some items are not, and they are listed. 2: the command could not run.
    """
    with end_on_errors("archive restore"):
        if not (tenant or since or until):
            raise OptionError("select items: --tenant, --since, --until, or --key with its tenant")
        session = ArchiveSession.find(stage, stack)
        selection = parse_selection(
            session.ledger, entities=entity, tenant=tenant, key=key, since=since, until=until
        )
        if apply:
            session = _admit(session)
        report = _restore_all(session, selection, apply, over_newer, state)
        if as_json:
            print_json(report)
        else:
            _print_restored(report)
        print_message(f"read: {session.reads}")
    if not report["finished"]:
        raise typer.Exit(COULD_NOT_RUN)
    raise typer.Exit(SUCCESS if report["complete"] else INCOMPLETE)


def _admit(session: ArchiveSession) -> ArchiveSession:
    """The session with a table that checks before each write that the command may write."""
    table, ledger = session.table, session.ledger
    admission = CommandAdmission(table, ledger, ledger.archived_types, time.sleep)
    admission.check()
    return replace(session, table=table.with_announcement(admission.check))


def _restore_all(
    session: ArchiveSession, selection: Selection, apply: bool, over_newer: bool, file: Path | None
) -> dict[str, Any]:
    restorer = Restorer(session.table, session.archive, session.ledger, now=session.now)
    total = sum(1 for _ in session.archive.list_selected(selection))
    if not apply:
        with show_progress(session, "searching", 2 * total):
            return restorer.restore(selection, over_newer=over_newer).to_json()
    # The values that identify a call: its checkpoint continues only the same request.
    request = {
        "table": session.table.name,
        "endpoint": session.stack.endpoint,
        "selection": repr(selection),
        "over_newer": over_newer,
    }
    checkpoint = open_checkpoint(file, "restore", request)
    before = checkpoint.progress

    def save(report: RestoreReport) -> None:
        counts = before.add_counts(report.to_json(), _SUMMED_IN_RESTORE)
        checkpoint.save(ArchiveProgress(report.cursor, counts))

    with show_progress(session, "restoring", 2 * total):
        report = restorer.restore(
            selection,
            dry_run=False,
            over_newer=over_newer,
            resume=before.cursor,
            on_progress=save,
        )
    if report.finished:
        checkpoint.remove()
    counts = report.to_json()
    counts |= before.add_counts(counts, _SUMMED_IN_RESTORE)
    is_work_left = any(counts[name] for name in ("newer", "waiting", "failed", "broken"))
    return {**counts, "complete": report.finished and not is_work_left}


def _print_restored(report: dict[str, Any]) -> None:
    if report["unrestorable"]:
        table = build_table("Cannot be restored", ("item", "error"))
        for entry in report["unrestorable"][:MAX_PRINTED_ITEMS]:
            table.add_row(Text(" ".join(entry["item"])), Text(entry["error"]))
        Console().print(table)
    for name, error in report["broken"].items():
        typer.echo(f"skipped: {name}: {error}")
    would = "would be restored" if report["dry_run"] else "restored"
    typer.echo(
        f"{report['rows']:,} rows of {report['items']:,} items; {report['restored']:,} {would}"
    )
    for name, meaning in _RESTORE_COUNTS.items():
        if report[name]:
            typer.echo(f"  {report[name]:,} {meaning}")
    if report["dry_run"]:
        typer.echo("Nothing was written: --apply does it.")
    elif not report["finished"]:
        typer.echo("It was interrupted; the same command continues from there.")


_RESTORE_COUNTS = {
    "replaced": "of them replaced a live item",
    "already": "were restored by an earlier call",
    "newer": "left alone: there is a live item (--over-newer)",
    "waiting": "left alone: there is an expired item, which has to be archived first",
    "failed": "that do not fit today's declarations",
}
"""The counts of a report, as they are printed after the number."""


_SUMMED = ("objects", "rows", "versions", "younger", "younger_rows", "broken")
TIME_LIMIT_S = 24 * 3600.0
"""The time limit of a run on the command line, which no platform timeout ends."""
Report = dict[str, Any]


def forget(  # the command's options
    tenant: Annotated[str | None, typer.Option(help="The tenant whose rows are removed.")] = None,
    due: Annotated[
        bool,
        typer.Option("--due", help="Remove the rows that are due, for all forgotten tenants."),
    ] = False,
    apply: Apply = False,
    state: StateFile = None,
    as_json: AsJson = False,
    stage: Stage = None,
    stack: StackFile = LOCAL,
) -> None:
    """Remove a tenant's rows from every archived object, including older object versions.

    For legal deletion, after the tenant's items were removed from the table. The default is a dry
    run. Objects younger than 72 hours are rewritten when they are due, by the stack or by --due.
    The tenant's records in the failure bucket are removed too, except those that wait for daicho
    redrive. With --apply the tenant has to be closed: nothing restores its rows. After an
    interruption the same command continues. Exit code 0: no rows of the tenant
    are left, or a dry run found none. 1: rows are left, and they are listed. 2: the command could
    not run.
    """
    with end_on_errors("archive forget"):
        if due == (tenant is not None):
            raise OptionError("name a tenant: --tenant, or all that are due: --due")
        if due and state is not None:
            raise OptionError("--state goes with --tenant: the table records the progress of --due")
        check_tenant(tenant)
        session = ArchiveSession.find(stage, stack)
        if tenant and apply and not ClosedTenants(session.table).is_closed(tenant):
            raise OptionError(f"{tenant} is not closed: DELETE /tenant comes before --apply")
        now, waiting = session.now(), _open_forgetter(session).list_waiting() if due else []
        if tenant is not None:
            reports = [_forget_tenant(session, tenant, apply, state)]
        else:
            reports = [
                _resume(session, request, apply) for request in waiting if request.is_due(now)
            ]
        if as_json:
            print_json(reports if due else reports[0])
        else:
            for report in reports:
                _print_forgotten(report)
            for request in waiting:
                if request.again and not request.is_due(now):
                    typer.echo(f"{request.tenant}: not before {keys.render_instant(request.again)}")
            if due and not waiting:
                typer.echo("no tenant is waiting")
        print_message(f"read: {session.reads}")
    raise typer.Exit(INCOMPLETE if any(_is_data_left(report) for report in reports) else SUCCESS)


def _open_forgetter(session: ArchiveSession) -> Forgetter:
    return Forgetter(session.table, session.metered_bucket, now=session.now)


def _remove_failed_records(
    session: ArchiveSession, tenant: str, *, dry_run: bool = False
) -> FailedRecordReport:
    return FailedRecordRemover(
        session.table, session.failures, tenant, session.now, dry_run=dry_run
    ).remove_applied()


def _count_rows(session: ArchiveSession, tenant: str) -> Report:
    """Report the archived rows and the failed records of a tenant, without a change."""
    with show_progress(session, f"searching {tenant}"):
        report = _open_forgetter(session).forget(tenant, dry_run=True)
        failures = _remove_failed_records(session, tenant, dry_run=True)
    return {**report.to_json(), "failures": failures.to_json()}


def _resume(session: ArchiveSession, request: ForgetRequest, apply: bool) -> Report:
    """Do the due work of a tenant: the stack's hourly work, and the failure bucket."""
    if not apply:
        return _count_rows(session, request.tenant)
    report = ForgetReport(request.tenant)
    with show_progress(session, f"forgetting {request.tenant}"):
        budget = RetryBudget.for_seconds(TIME_LIMIT_S)
        _open_forgetter(session).resume(request, budget, report)
        failures = _remove_failed_records(session, request.tenant)
    complete = report.complete and failures.complete
    return {**report.to_json(), "failures": failures.to_json(), "complete": complete}


def _forget_tenant(session: ArchiveSession, tenant: str, apply: bool, file: Path | None) -> Report:
    if not apply:
        return _count_rows(session, tenant)
    request = {"bucket": session.bucket.name, "endpoint": session.stack.endpoint, "tenant": tenant}
    checkpoint = open_checkpoint(file, "forget", request)
    before = checkpoint.progress
    again = before.done.get("again_at")

    def save(report: ForgetReport) -> None:
        now = report.to_json()
        counts = {**before.add_counts(now, _SUMMED), "again_at": now["again_at"]}
        checkpoint.save(ArchiveProgress(report.cursor, counts))

    with show_progress(session, f"forgetting {tenant}"):
        report = _open_forgetter(session).forget(
            tenant,
            resume=before.cursor,
            again_at=dt.datetime.fromisoformat(again) if again else None,
            on_progress=save,
        )
        failures = _remove_failed_records(session, tenant)
    checkpoint.remove()
    counts = {**report.to_json(), "failures": failures.to_json()}
    counts |= before.add_counts(counts, _SUMMED)
    is_left = counts["younger"] or counts["broken"] or not failures.complete
    return {**counts, "complete": not is_left}


def _is_data_left(report: Report) -> bool:
    """Whether data of the tenant remains; after a dry run, whether there is any."""
    failures = report["failures"]
    if not report["dry_run"]:
        return not report["complete"]
    rows = (report[name] for name in ("objects", "versions", "younger", "broken"))
    return any(rows) or any(failures[name] for name in ("objects", "versions", "waiting"))


def _print_forgotten(report: Report) -> None:
    dry_run, failures = report["dry_run"], report["failures"]
    verb = "would be removed" if dry_run else "removed"
    typer.echo(
        f"{report['tenant']}: {report['rows']:,} rows of {report['objects']:,} objects {verb}, "
        f"and {report['versions']:,} older versions"
    )
    if report["younger"]:
        typer.echo(
            f"  {report['younger_rows']:,} rows of {report['younger']:,} objects are younger than "
            f"72 hours: the stack rewrites these objects at {report['again_at']}"
        )
    elif report["again_at"]:
        typer.echo(
            f"  the stack searches again at {report['again_at']}: more rows may still arrive"
        )
    typer.echo(
        f"  of the failure bucket {failures['records']:,} records of {failures['objects']:,} "
        f"objects, and {failures['versions']:,} older versions"
    )
    for name in failures["waiting"]:
        typer.echo(f"  waits for daicho redrive: {name}")
    for name, error in report["broken"].items():
        typer.echo(f"  cannot be read, and may contain rows of the tenant: {name}: {error}")
    if dry_run:
        typer.echo("Nothing was removed: --apply does it.")
    elif report["complete"]:
        typer.echo(f"nothing of {report['tenant']} is left")


app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    add_completion=False,
    help="Query, restore, verify and erase archived items.",
)
app.command()(query)
app.command()(restore)
app.command()(verify)
app.command()(forget)
