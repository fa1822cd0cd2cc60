"""``daicho archive restore``: write archived items back into the table."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from daicho.archive.reader import Selection
from daicho.archive.restorer import Restorer, RestoreReport
from daicho.release.commands import CommandAdmission
from daicho.storage import keys
from daicho_cli.archive.session import (
    Apply,
    ArchiveProgress,
    ArchiveSession,
    AsJson,
    Entities,
    KeyParts,
    Since,
    StateFile,
    Tenant,
    Until,
    open_checkpoint,
    parse_selection,
    show_progress,
    sum_counts,
)
from daicho_cli.options import LOCAL, StackFile, Stage
from daicho_cli.terminal import (
    COULD_NOT_RUN,
    INCOMPLETE,
    SUCCESS,
    OptionError,
    end_on_errors,
    print_message,
)

MAX_PRINTED_ITEMS = 20
_SUMMED = (
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
            typer.echo(json.dumps(report, indent=2, ensure_ascii=False))
        else:
            _show(report)
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
    checkpoint = open_checkpoint(file, "restore", _build_request(session, selection, over_newer))
    before = checkpoint.progress

    def add_earlier_counts(report: RestoreReport) -> dict[str, Any]:
        now = report.to_json()
        return sum_counts(before.done, {name: now[name] for name in _SUMMED})

    def save(report: RestoreReport) -> None:
        checkpoint.save(ArchiveProgress(report.cursor, add_earlier_counts(report)))

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
    counts = {**report.to_json(), **add_earlier_counts(report)}
    is_work_left = any(counts[name] for name in ("newer", "waiting", "failed", "broken"))
    return {**counts, "complete": report.finished and not is_work_left}


def _build_request(
    session: ArchiveSession, selection: Selection, over_newer: bool
) -> dict[str, Any]:
    """The values that identify a call: its checkpoint continues only the same request."""
    key, since, until = selection.key, selection.since, selection.until
    return {
        "table": session.table.name,
        "endpoint": session.stack.endpoint,
        "entities": list(selection.entities),
        "tenant": selection.tenant,
        "key": [key.pk, key.sk] if key else None,
        "since": keys.render_instant(since) if since else None,
        "until": keys.render_instant(until) if until else None,
        "over_newer": over_newer,
    }


def _show(report: dict[str, Any]) -> None:
    if report["unrestorable"]:
        table = Table(title="Cannot be restored", title_justify="left")
        for column in ("item", "error"):
            table.add_column(column, overflow="fold")
        for entry in report["unrestorable"][:MAX_PRINTED_ITEMS]:
            table.add_row(Text(" ".join(entry["item"])), Text(entry["error"]))
        Console().print(table)
    for name, error in report["broken"].items():
        typer.echo(f"skipped: {name}: {error}")
    would = "would be restored" if report["dry_run"] else "restored"
    typer.echo(
        f"{report['rows']:,} rows of {report['items']:,} items; {report['restored']:,} {would}"
    )
    for name, meaning in _MEANINGS.items():
        if report[name]:
            typer.echo(f"  {report[name]:,} {meaning}")
    if report["dry_run"]:
        typer.echo("Nothing was written: --apply does it.")
    elif not report["finished"]:
        typer.echo("It was interrupted; the same command continues from there.")


_MEANINGS = {
    "replaced": "of them replaced a live item",
    "already": "were restored by an earlier call",
    "newer": "left alone: there is a live item (--over-newer)",
    "waiting": "left alone: there is an expired item, which has to be archived first",
    "failed": "that do not fit today's declarations",
}
"""The counts of a report, as they are printed after the number."""
