"""``daicho archive forget``: remove a tenant from the archive permanently."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from daicho.archive.forget_failed_records import FailedRecordForgetter
from daicho.archive.forget_requests import ForgetRequest
from daicho.archive.forget_schedule import ForgetScheduler
from daicho.archive.forgetter import ForgetReport, Forgetter
from daicho.runtime.retry import RetryBudget
from daicho.storage import keys
from daicho.storage.keys import TENANT
from daicho_cli.archive.checkpoint import State, sum_counts
from daicho_cli.archive.options import (
    LOCAL,
    Apply,
    AsJson,
    OptionError,
    StackFile,
    Stage,
    StateFile,
)
from daicho_cli.archive.session import (
    FOUND,
    SOUND,
    ArchiveSession,
    end_on_errors,
    print_message,
    show_progress,
)

_SUMMED = ("objects", "rows", "versions", "younger", "younger_rows", "broken")
SECONDS = 24 * 3600.0
"""The time limit of a run on the command line, which no platform timeout ends."""
Report = dict[str, Any]


def forget(  # the command's options
    tenant: Annotated[str | None, typer.Option(help="Whose rows.")] = None,
    due: Annotated[
        bool,
        typer.Option("--due", help="Of all tenants that were forgotten, what can go by now."),
    ] = False,
    apply: Apply = False,
    state: StateFile = None,
    as_json: AsJson = False,
    stage: Stage = None,
    stack: StackFile = LOCAL,
) -> None:
    """Take a tenant's rows out of every archived object, with all versions that held them.

    For legal deletion, once the tenant's items are gone from the table. First as a dry run.
    Objects younger than 72 hours are left until then: the stack rewrites them when their time has
    come, and --due does that at once. What lies of the tenant in the failure bucket goes too,
    except what waits for daicho redrive. One that was cut off goes on. Exit code 0: nothing of the
    tenant is left, or of a dry run: nothing was there. 1: something is, and it says what. 2: it
    could not run.
    """
    with end_on_errors("forget"):
        if due == (tenant is not None):
            raise OptionError("say whom: --tenant, or --due")
        if due and state is not None:
            raise OptionError("--state goes with --tenant: what is due is remembered in the table")
        if tenant is not None and not TENANT.fullmatch(tenant):
            raise OptionError(f"--tenant {tenant!r}: a-z, 0-9 and -, at most 63 characters")
        opened = ArchiveSession.find(stage, stack)
        now, waiting = opened.now(), _report_due(opened).list_waiting() if due else []
        if tenant is not None:
            reports = [_forget_now(opened, tenant, apply, state)]
        else:
            reports = [_resume(opened, mark, apply) for mark in waiting if mark.is_due(now)]
        if as_json:
            typer.echo(json.dumps(reports if due else reports[0], indent=2, ensure_ascii=False))
        else:
            for report in reports:
                _show(report)
            for request in waiting:
                if request.again and not request.is_due(now):
                    typer.echo(f"{request.tenant}: not before {keys.render_instant(request.again)}")
            if due and not waiting:
                typer.echo("nothing waits")
        print_message(f"read: {opened.touched}")
    raise typer.Exit(FOUND if any(_is_left(result) for result in reports) else SOUND)


def _report_due(opened: ArchiveSession) -> ForgetScheduler:
    return ForgetScheduler(opened.table, opened.metered, now=opened.now)


def _look_for(opened: ArchiveSession, tenant: str) -> Report:
    """Report the archived rows and the failed records of a tenant, without a change."""
    with show_progress(opened, f"looking for {tenant}"):
        report = Forgetter(opened.table, opened.metered, now=opened.now).forget(
            tenant, dry_run=True
        )
        failures = FailedRecordForgetter(opened.table, opened.failures, now=opened.now).forget(
            tenant, dry_run=True
        )
    return {**report.to_json(), "failures": failures.to_json()}


def _resume(opened: ArchiveSession, mark: ForgetRequest, apply: bool) -> Report:
    """Do the due work of a tenant: the stack's hourly work, and the failure bucket."""
    if not apply:
        return _look_for(opened, mark.tenant)
    report = ForgetReport(mark.tenant)
    with show_progress(opened, f"forgetting {mark.tenant}"):
        _report_due(opened).resume(mark, RetryBudget.for_seconds(SECONDS), report)
        failures = FailedRecordForgetter(opened.table, opened.failures, now=opened.now).forget(
            mark.tenant
        )
    done = {**report.to_json(), "failures": failures.to_json()}
    return {**done, "complete": report.complete and failures.complete}


def _forget_now(opened: ArchiveSession, tenant: str, apply: bool, file: Path | None) -> Report:
    if not apply:
        return _look_for(opened, tenant)
    request = {"bucket": opened.bucket.name, "endpoint": opened.stack.endpoint, "tenant": tenant}
    state = State.open(file, "forget", request)
    if state.cursor:
        print_message(f"going on behind {state.cursor}, as {state.file} says")
    again = state.done.get("again_at")

    def whole(report: ForgetReport) -> Report:
        now = report.to_json()
        both = sum_counts(state.done, {name: now[name] for name in _SUMMED})
        return {**both, "again_at": now["again_at"]}

    with show_progress(opened, f"forgetting {tenant}"):
        report = Forgetter(opened.table, opened.metered, now=opened.now).forget(
            tenant,
            resume=state.cursor,
            again_at=dt.datetime.fromisoformat(again) if again else None,
            on_progress=lambda progress: state.save(progress.cursor, whole(progress)),
        )
        failures = FailedRecordForgetter(opened.table, opened.failures, now=opened.now).forget(
            tenant
        )
    state.close()
    done = {**report.to_json(), **whole(report), "failures": failures.to_json()}
    left = done["younger"] or done["broken"] or not failures.complete
    return {**done, "complete": not left}


def _is_left(report: Report) -> bool:
    """Whether data of the tenant remains; after a dry run, whether it has found any."""
    failures = report["failures"]
    if not report["dry_run"]:
        return not report["complete"]
    counts = ("objects", "versions", "younger", "broken")
    return any(report[name] for name in counts) or any(
        failures[name] for name in ("objects", "versions", "waiting")
    )


def _show(report: Report) -> None:
    dry, failures = report["dry_run"], report["failures"]
    would = "would be taken out" if dry else "taken out"
    typer.echo(
        f"{report['tenant']}: {report['rows']:,} rows of {report['objects']:,} objects {would}, "
        f"and {report['versions']:,} older versions"
    )
    if report["younger"]:
        typer.echo(
            f"  {report['younger_rows']:,} rows of {report['younger']:,} objects are younger than "
            f"72 hours: again at {report['again_at']}, by itself"
        )
    elif report["again_at"]:
        typer.echo(f"  looked at again at {report['again_at']}, by itself: more may be on its way")
    typer.echo(
        f"  of the failure bucket {failures['records']:,} records of {failures['objects']:,} "
        f"objects, and {failures['versions']:,} older versions"
    )
    for name in failures["waiting"]:
        typer.echo(f"  waits for daicho redrive: {name}")
    for name, why in report["broken"].items():
        typer.echo(f"  nobody knows what it holds: {name}: {why}")
    if dry:
        typer.echo("Nothing was removed: --apply does it.")
    elif report["complete"]:
        typer.echo(f"nothing of {report['tenant']} is left")
