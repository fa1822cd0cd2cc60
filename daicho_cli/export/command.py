"""``daicho export``: the table's items into a file, by a parallel scan."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from daicho.errors import StoreError
from daicho.query.section_reader import SectionReader, SectionsRead
from daicho.query.version_history import read_pointed_contents
from daicho.runtime.clock import utc_now
from daicho.runtime.rate_limit import RateLimiter
from daicho.storage.attributes import Image
from daicho.storage.parallel_scan import ScanRound
from daicho_cli.aws.connection import Connection
from daicho_cli.checkpoint import CheckpointError
from daicho_cli.export.checkpoint import ExportProgress, open_checkpoint
from daicho_cli.export.exporter import ExportedPage, Exporter
from daicho_cli.export.item_lines import ExportSelection, LineMaker
from daicho_cli.options import (
    LOCAL,
    Endpoint,
    OptionError,
    StackFile,
    TableName,
    check_tenant,
    find_entity,
)
from daicho_cli.project import discover_project, load_ledger
from daicho_cli.terminal import INTERRUPTED, CommandError, create_progress_bar, end_command

FAILED = 1
"""Exit code: nothing was exported, or not all."""


def export(  # noqa: PLR0913, PLR0917  # the command's options
    file: Annotated[Path, typer.Argument(help="The output, in NDJSON.", dir_okay=False)],
    tenant: Annotated[str | None, typer.Option(help="Export only this tenant.")] = None,
    entity: Annotated[
        list[str] | None, typer.Option(help="Export only this entity. May be repeated.")
    ] = None,
    raw: Annotated[
        bool,
        typer.Option("--raw", help="Write DynamoDB JSON; without --entity also derived items."),
    ] = False,
    table: TableName = None,
    endpoint: Endpoint = None,
    stack: StackFile = LOCAL,
    rate: Annotated[
        float | None, typer.Option(min=1, help="The highest number of read units a second.")
    ] = None,
    parallelism: Annotated[
        int, typer.Option(min=1, max=64, help="The most segments in parallel; fewer if throttled.")
    ] = 8,
    segments: Annotated[
        int,
        typer.Option(
            min=1, max=10_000, help="The number of segments of the scan, fixed at the start."
        ),
    ] = 64,
    consistent: Annotated[
        bool, typer.Option("--consistent", help="Read strongly consistent, at twice the units.")
    ] = False,
    replica: Annotated[
        bool,
        typer.Option(
            "--replica", help="Read the replica index, if deployed, instead of the table."
        ),
    ] = False,
    again: Annotated[bool, typer.Option("--again", help="Start again from the beginning.")] = False,
) -> None:
    """Export items into FILE, one item a line.

    If an export is interrupted, the same command continues it, and no line is lost or doubled. An
    export is not a snapshot: an item that is written during the export may be in it or not.
    """
    try:
        selection = _parse_selection(tenant, entity or [], raw, consistent, replica)
        connection = Connection.find(table, endpoint, stack)
        exporter = _open_exporter(
            file, connection, selection, parallelism, segments, RateLimiter(rate), again
        )
    except CommandError as error:
        end_command(str(error), FAILED)
    progress = exporter.checkpoint.progress
    if progress.finished:
        typer.echo(
            f"{file} was exported before: {progress.items:,} items. --again does it once more."
        )
        return
    try:
        _run_with_progress_bar(exporter)
    except (OSError, StoreError) as error:
        end_command(
            f"{error}\nStopped after {progress.items:,} items. The same command continues from "
            "there.",
            FAILED,
        )
    except KeyboardInterrupt:
        end_command("\nStopped. The same command continues from here.", INTERRUPTED)
    typer.echo(
        f"{file}: {progress.items:,} items of {progress.scanned:,}, "
        f"{progress.units:,.1f} read units"
    )


def _parse_selection(
    tenant: str | None, entities: list[str], raw: bool, consistent: bool, replica: bool
) -> ExportSelection:
    if replica and consistent:
        raise OptionError(
            "an index is never strongly consistent: --replica or --consistent, not both"
        )
    check_tenant(tenant)
    names = tuple(sorted({find_entity(name).__name__ for name in entities}))
    return ExportSelection(tenant, names, raw, consistent, "Replica" if replica else None)


def _open_exporter(
    file: Path,
    connection: Connection,
    selection: ExportSelection,
    parallelism: int,
    segments: int,
    pace: RateLimiter,
    restart: bool,
) -> Exporter:
    table = connection.open(parallelism, attempts=1)  # the scan itself retries and adapts
    request = {
        "endpoint": connection.endpoint or "aws",
        "table": connection.table,
        "tenant": selection.tenant,
        "entities": list(selection.entities),
        "raw": selection.raw,
        **({"index": selection.index} if selection.index else {}),
    }
    try:
        checkpoint = open_checkpoint(file, request, segments, restart=restart)
    except CheckpointError as error:
        raise CheckpointError(f"{error}; --again starts again, and overwrites it") from error
    ledger = load_ledger()
    lines = LineMaker(
        selection,
        ledger,
        lambda: int(utc_now().timestamp()),
        partial(read_pointed_contents, table, ledger),
        partial(_join_sections, SectionReader(table)),
        {each.__name__: each for each in discover_project().entities},
    )
    return Exporter(file, checkpoint, lines, table, parallelism, pace)


def _join_sections(reader: SectionReader, head: Image, entity: str) -> dict[str, Any] | None:
    """The sections of a document, which are separate items."""
    document = reader.read_document(head, entity)
    return document.get_values() if isinstance(document, SectionsRead) else None


def _run_with_progress_bar(exporter: Exporter) -> None:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[items]:,} items"),
        TextColumn("{task.fields[units]:,.0f} units"),
        TextColumn("{task.fields[parallelism]} at once"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    total = exporter.checkpoint.progress.segments.total

    with create_progress_bar(*columns) as bar:
        task = bar.add_task(exporter.output.name, total=total, items=0, units=0.0, parallelism=0)

        def update_bar(progress: ExportProgress, scan_round: ScanRound[ExportedPage]) -> None:
            bar.update(
                task,
                completed=total - len(progress.segments.starts),
                items=progress.items,
                units=progress.units,
                parallelism=scan_round.parallelism,
            )

        exporter.run(update_bar)
