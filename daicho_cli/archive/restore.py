"""``daicho archive restore``: write archived items back into the table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from daicho.archive.reader import Selection
from daicho.archive.restorer import Restorer, RestoreReport
from daicho.storage import keys
from daicho_cli.archive import options
from daicho_cli.archive.checkpoint import State, sum_counts
from daicho_cli.archive.options import (
    LOCAL,
    Apply,
    AsJson,
    Entities,
    KeyParts,
    OptionError,
    Since,
    StackFile,
    Stage,
    StateFile,
    Tenant,
    Until,
)
from daicho_cli.archive.session import (
    COULD_NOT_RUN,
    FOUND,
    SOUND,
    ArchiveSession,
    end_on_errors,
    print_message,
    show_progress,
)

SHOWN = 20
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
        bool, typer.Option("--over-newer", help="Also where a live item stands by now.")
    ] = False,
    state: StateFile = None,
    as_json: AsJson = False,
    stage: Stage = None,
    stack: StackFile = LOCAL,
) -> None:
    """Bring archived items back: of a key, a tenant, a time of deletion. First as a dry run.

    Of one key the newest row counts. An item comes back with a new expiry, and what is derived
    from it follows through the stream, as of any write. Nothing is written over a live item
    unless --over-newer. A second time does no harm, and one that was cut off goes on. Exit code
    0: all that was chosen is back. 1: something is not, and it says what. 2: it could not run.
    """
    with end_on_errors("restore"):
        if not (tenant or since or until):
            raise OptionError("say what: --tenant, --since, --until, or --key with its tenant")
        opened = ArchiveSession.find(stage, stack)
        selection = options.parse_selection(
            opened.ledger, entities=entity, tenant=tenant, key=key, since=since, until=until
        )
        report = _restore_all(opened, selection, apply, over_newer, state)
        if as_json:
            typer.echo(json.dumps(report, indent=2, ensure_ascii=False))
        else:
            _show(report)
        print_message(f"read: {opened.touched}")
    if not report["finished"]:
        raise typer.Exit(COULD_NOT_RUN)
    raise typer.Exit(SOUND if report["complete"] else FOUND)


def _restore_all(
    opened: ArchiveSession, selection: Selection, apply: bool, over_newer: bool, file: Path | None
) -> dict[str, Any]:
    restorer = Restorer(opened.table, opened.archive, opened.ledger, now=opened.now)
    total = sum(1 for _ in opened.archive.list_selected(selection))
    if not apply:
        with show_progress(opened, "looking", 2 * total):
            return restorer.restore(selection, over_newer=over_newer).to_json()
    state = State.open(file, "restore", _build_question(opened, selection, over_newer))
    if state.cursor:
        print_message(f"going on behind {state.cursor}, as {state.file} says")

    def whole(report: RestoreReport) -> dict[str, Any]:
        now = report.to_json()
        return sum_counts(state.done, {name: now[name] for name in _SUMMED})

    with show_progress(opened, "restoring", 2 * total):
        report = restorer.restore(
            selection,
            dry_run=False,
            over_newer=over_newer,
            resume=state.cursor,
            on_progress=lambda progress: state.save(progress.cursor, whole(progress)),
        )
    if report.finished:
        state.close()
    counts = {**report.to_json(), **whole(report)}
    left = any(counts[name] for name in ("newer", "waiting", "failed", "broken"))
    return {**counts, "complete": report.finished and not left}


def _build_question(
    opened: ArchiveSession, selection: Selection, over_newer: bool
) -> dict[str, Any]:
    """The values that identify a call."""
    key, since, until = selection.key, selection.since, selection.until
    return {
        "table": opened.table.name,
        "endpoint": opened.stack.endpoint,
        "entities": list(selection.entities),
        "tenant": selection.tenant,
        "key": [key.pk, key.sk] if key else None,
        "since": keys.render_instant(since) if since else None,
        "until": keys.render_instant(until) if until else None,
        "over_newer": over_newer,
    }


def _show(report: dict[str, Any]) -> None:
    if report["unrestorable"]:
        table = Table(title="Cannot be brought back", title_justify="left")
        for column in ("item", "why"):
            table.add_column(column, overflow="fold")
        for entry in report["unrestorable"][:SHOWN]:
            table.add_row(Text(" ".join(entry["item"])), Text(entry["error"]))
        Console().print(table)
    for name, why in report["broken"].items():
        typer.echo(f"passed over: {name}: {why}")
    would = "would be restored" if report["dry_run"] else "restored"
    typer.echo(
        f"{report['rows']:,} rows of {report['items']:,} items; {report['restored']:,} {would}"
    )
    for name, meaning in _LEFT.items():
        if report[name]:
            typer.echo(f"  {report[name]:,} {meaning}")
    if report["dry_run"]:
        typer.echo("Nothing was written: --apply does it.")
    elif not report["finished"]:
        typer.echo("It broke off; the same command goes on from there.")


_LEFT = {
    "replaced": "of them over a live item",
    "already": "were back already, by an earlier call",
    "newer": "left alone: a live item stands there (--over-newer)",
    "waiting": "left alone: an expired item stands there, which has to be archived first",
    "failed": "of which no item of today's declarations can be made",
}
