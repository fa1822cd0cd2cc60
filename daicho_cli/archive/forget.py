"""``daicho archive forget``: remove a tenant from the archive permanently."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from daicho.archive.forget_requests import ForgetRequest
from daicho.archive.forget_schedule import ForgetScheduler
from daicho.archive.forgetter import ForgetReport, Forgetter
from daicho.runtime.retry import RetryBudget
from daicho.storage import keys
from daicho.tenants.failed_records import FailedRecordRemover, FailedRecordReport
from daicho_cli.archive.session import (
    Apply,
    ArchiveProgress,
    ArchiveSession,
    AsJson,
    StateFile,
    open_checkpoint,
    show_progress,
    sum_counts,
)
from daicho_cli.options import LOCAL, StackFile, Stage, check_tenant
from daicho_cli.terminal import INCOMPLETE, SUCCESS, OptionError, end_on_errors, print_message

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
    redrive. After an interruption the same command continues. Exit code 0: no rows of the tenant
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
        now, waiting = session.now(), _open_scheduler(session).list_waiting() if due else []
        if tenant is not None:
            reports = [_forget_tenant(session, tenant, apply, state)]
        else:
            reports = [
                _resume(session, request, apply) for request in waiting if request.is_due(now)
            ]
        if as_json:
            typer.echo(json.dumps(reports if due else reports[0], indent=2, ensure_ascii=False))
        else:
            for report in reports:
                _print_report(report)
            for request in waiting:
                if request.again and not request.is_due(now):
                    typer.echo(f"{request.tenant}: not before {keys.render_instant(request.again)}")
            if due and not waiting:
                typer.echo("no tenant is waiting")
        print_message(f"read: {session.reads}")
    raise typer.Exit(INCOMPLETE if any(_is_data_left(report) for report in reports) else SUCCESS)


def _open_scheduler(session: ArchiveSession) -> ForgetScheduler:
    return ForgetScheduler(session.table, session.metered_bucket, now=session.now)


def _remove_failed_records(
    session: ArchiveSession, tenant: str, *, dry_run: bool = False
) -> FailedRecordReport:
    return FailedRecordRemover(
        session.table, session.failures, tenant, session.now, dry_run=dry_run
    ).remove_applied()


def _count_rows(session: ArchiveSession, tenant: str) -> Report:
    """Report the archived rows and the failed records of a tenant, without a change."""
    with show_progress(session, f"searching {tenant}"):
        forgetter = Forgetter(session.table, session.metered_bucket, now=session.now)
        report = forgetter.forget(tenant, dry_run=True)
        failures = _remove_failed_records(session, tenant, dry_run=True)
    return {**report.to_json(), "failures": failures.to_json()}


def _resume(session: ArchiveSession, request: ForgetRequest, apply: bool) -> Report:
    """Do the due work of a tenant: the stack's hourly work, and the failure bucket."""
    if not apply:
        return _count_rows(session, request.tenant)
    report = ForgetReport(request.tenant)
    with show_progress(session, f"forgetting {request.tenant}"):
        budget = RetryBudget.for_seconds(TIME_LIMIT_S)
        _open_scheduler(session).resume(request, budget, report)
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

    def add_earlier_counts(report: ForgetReport) -> Report:
        now = report.to_json()
        counts = sum_counts(before.done, {name: now[name] for name in _SUMMED})
        return {**counts, "again_at": now["again_at"]}

    def save(report: ForgetReport) -> None:
        checkpoint.save(ArchiveProgress(report.cursor, add_earlier_counts(report)))

    with show_progress(session, f"forgetting {tenant}"):
        report = Forgetter(session.table, session.metered_bucket, now=session.now).forget(
            tenant,
            resume=before.cursor,
            again_at=dt.datetime.fromisoformat(again) if again else None,
            on_progress=save,
        )
        failures = _remove_failed_records(session, tenant)
    checkpoint.remove()
    counts = {**report.to_json(), **add_earlier_counts(report), "failures": failures.to_json()}
    is_left = counts["younger"] or counts["broken"] or not failures.complete
    return {**counts, "complete": not is_left}


def _is_data_left(report: Report) -> bool:
    """Whether data of the tenant remains; after a dry run, whether there is any."""
    failures = report["failures"]
    if not report["dry_run"]:
        return not report["complete"]
    counts = ("objects", "versions", "younger", "broken")
    return any(report[name] for name in counts) or any(
        failures[name] for name in ("objects", "versions", "waiting")
    )


def _print_report(report: Report) -> None:
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
