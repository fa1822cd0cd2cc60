"""``daicho export``: the table's items into a file, by a parallel scan."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from daicho.errors import StoreError
from daicho.query.section_reader import SectionReader, SectionsRead
from daicho.query.version_history import read_pointed_contents
from daicho.runtime.clock import utc_now
from daicho.runtime.rate_limit import RateLimiter
from daicho.storage.attributes import Image
from daicho.storage.keys import TENANT
from daicho.storage.parallel_scan import ScanRound
from daicho_cli.aws.connection import Connection
from daicho_cli.aws.stacks import STACK_FILE, StackError
from daicho_cli.export.checkpoint import ChangedError, State
from daicho_cli.export.exporter import ExportedPage, Exporter
from daicho_cli.export.item_lines import ExportSelection, LineMaker
from daicho_cli.project import discover_project, load_ledger

INTERRUPTED = 130


def export(  # noqa: PLR0913, PLR0917  # the command's options
    file: Annotated[Path, typer.Argument(help="Where to: NDJSON.", dir_okay=False)],
    tenant: Annotated[str | None, typer.Option(help="Of this tenant only.")] = None,
    entity: Annotated[
        list[str] | None, typer.Option(help="Of this entity only; may be given again.")
    ] = None,
    raw: Annotated[
        bool,
        typer.Option("--raw", help="DynamoDB's own JSON; without --entity, derived items too."),
    ] = False,
    table: Annotated[str | None, typer.Option(help="Default: the local stack's.")] = None,
    endpoint: Annotated[str | None, typer.Option(help="Of a DynamoDB that is not AWS's.")] = None,
    stack: Annotated[
        Path, typer.Option(help="What names the default table.", show_default=".local/stack.json")
    ] = STACK_FILE,
    rate: Annotated[float | None, typer.Option(min=1, help="Read units a second at most.")] = None,
    at_once: Annotated[
        int, typer.Option(min=1, max=64, help="Segments at once at most; throttled, it is fewer.")
    ] = 8,
    segments: Annotated[
        int, typer.Option(min=1, max=10_000, help="Into how many the table is cut, once for all.")
    ] = 64,
    consistent: Annotated[
        bool, typer.Option("--consistent", help="Strongly consistent, for twice the units.")
    ] = False,
    replica: Annotated[
        bool,
        typer.Option(
            "--replica", help="From the replica index, if deployed: no read touches the table."
        ),
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Begin anew, whatever was exported before.")
    ] = False,
) -> None:
    """Export items into FILE, a line each.

    An export that was cut off goes on where it was when it is called again; no line is lost or
    doubled. What is written while it runs may be in it or not: it is no snapshot.
    """
    if replica and consistent:
        _exit_process("an index is never strongly consistent: --replica or --consistent, not both")
    source = "Replica" if replica else None
    chosen = ExportSelection(tenant, _parse_entities(entity or []), raw, consistent, source)
    if tenant is not None and not TENANT.fullmatch(tenant):
        _exit_process(
            f"{tenant!r} is no tenant that a token could name: a-z, 0-9 and -, at most 63"
        )
    try:
        connection = Connection.find(table, endpoint, stack)
        opened = connection.open(at_once, attempts=1)  # the scan itself retries and adapts
    except StackError as error:
        _exit_process(str(error))
    request = {
        "endpoint": connection.endpoint or "aws",
        "table": connection.table,
        "tenant": tenant,
        "entities": list(chosen.entities),
        "raw": raw,
        **({"index": source} if source else {}),
    }
    try:
        state = State.open(file, request, segments, anew=again)
    except ChangedError as error:
        _exit_process(f"{error}; --again begins anew, and overwrites it")
    if state.finished:
        typer.echo(f"{file} was exported before: {state.items:,} items. --again does it once more.")
        return
    ledger = load_ledger()
    pointed = partial(read_pointed_contents, opened, ledger)
    joined = partial(_join_names, SectionReader(opened))
    lines = LineMaker(chosen, ledger, lambda: int(utc_now().timestamp()), pointed, joined)
    exporter = Exporter(file, state, lines, opened, at_once, RateLimiter(rate))
    try:
        _run(exporter)
    except (OSError, StoreError) as error:
        _exit_process(
            f"{error}\nStopped after {state.items:,} items. The same command goes on from there."
        )
    except KeyboardInterrupt:
        typer.echo("\nStopped. The same command goes on from here.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    typer.echo(f"{file}: {state.items:,} items of {state.scanned:,}, {state.units:,.1f} read units")


def _join_names(reader: SectionReader, head: Image, entity: str) -> dict[str, Any] | None:
    """The sections of a document, which are separate items."""
    document = reader.read_document(head, entity)
    return document.get_values() if isinstance(document, SectionsRead) else None


def _run(exporter: Exporter) -> None:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[items]:,} items"),
        TextColumn("{task.fields[units]:,.0f} units"),
        TextColumn("{task.fields[at_once]} at once"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    whole = exporter.state.segments.total

    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(exporter.output.name, total=whole, items=0, units=0.0, at_once=0)

        def progress(state: State, scan_round: ScanRound[ExportedPage]) -> None:
            ended = whole - len(state.segments.starts)
            bar.update(
                task,
                completed=ended,
                items=state.items,
                units=state.units,
                at_once=scan_round.at_once,
            )

        exporter.run(progress)


def _parse_entities(names: list[str]) -> tuple[str, ...]:
    choices = sorted(entity.__name__ for entity in discover_project().entities)
    for name in names:
        if name not in choices:
            _exit_process(f"no entity is called {name}; there are {', '.join(choices)}")
    return tuple(sorted(set(names)))


def _exit_process(message: str) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(1)
