"""``daicho load``: a file of rows into the table."""

from __future__ import annotations

import time
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from daicho.declare.entity import Entity
from daicho.errors import StoreError, TenantClosed
from daicho.release.commands import REQUEST_ATTEMPTS, REQUEST_TIMEOUT_S, CommandAdmission
from daicho.release.refusals import ReleaseRefusedError
from daicho.runtime.clock import utc_now
from daicho.runtime.rate_limit import RateLimiter
from daicho.storage import keys
from daicho.web.routes.builder import list_path_only_fields
from daicho_cli.aws import Connection
from daicho_cli.checkpoint import CheckpointError
from daicho_cli.load.checkpoint import LoadProgress, open_checkpoint, render_checkpoint_path
from daicho_cli.load.loader import Loader, read_rejected
from daicho_cli.load.rows import RowPreparer
from daicho_cli.load.writers import BatchWriter, CheckedWriter
from daicho_cli.options import LOCAL, Endpoint, StackFile, TableName, check_tenant, find_entity
from daicho_cli.project import discover_project, load_ledger
from daicho_cli.terminal import (
    CommandError,
    OptionError,
    end_command,
    print_message,
    show_progress_bar,
)

FAILED, ROWS_REJECTED = 1, 3
"""Exit codes: nothing was loaded, or not all; all was loaded but the rejected rows."""
MAX_PRINTED_ROWS = 10


def load(  # noqa: PLR0913, PLR0917  # the command's options
    entity: Annotated[str, typer.Argument(help="The name of the entity, for example Song.")],
    file: Annotated[
        Path,
        typer.Argument(help="The input, in NDJSON.", exists=True, dir_okay=False),
    ],
    tenant: Annotated[str, typer.Option(help="The tenant of the items.")],
    table: TableName = None,
    endpoint: Endpoint = None,
    stack: StackFile = LOCAL,
    rate: Annotated[
        float | None, typer.Option(min=1, help="The highest number of items a second.")
    ] = None,
    writers: Annotated[
        int, typer.Option(min=1, max=64, help="The number of batches that are written in parallel.")
    ] = 4,
    again: Annotated[
        bool, typer.Option("--again", help="Start again from the first row of the file.")
    ] = False,
    any_state: Annotated[
        bool,
        typer.Option("--any-state", help="Let new items have any state, whatever transitions say."),
    ] = False,
    publish: Annotated[
        bool, typer.Option("--publish", help="Publish the events of the items that are loaded.")
    ] = False,
) -> None:
    """Load the rows of FILE as items of ENTITY.

    A row whose key exists already replaces that item. If a load is interrupted, the same command
    continues it. Rows that the entity rejects are written to FILE.rejected.ndjson, and all other
    rows are loaded; the exit code is then 3. So are rows with a unique value that an item, or an
    earlier row, has.
    """
    try:
        entity_class = _find_loadable_entity(entity)
        check_tenant(tenant)
        connection = Connection.find(table, endpoint, stack)
        loader = _open_loader(
            entity_class, file, tenant, connection, rate, writers, again, any_state, publish
        )
    except (CommandError, ReleaseRefusedError, StoreError) as error:
        end_command(str(error), FAILED)
    progress = loader.checkpoint.progress
    if progress.finished:
        typer.echo(
            f"{file} was loaded before: {_format_counts(progress)}. --again loads it once more."
        )
        raise typer.Exit(ROWS_REJECTED if progress.rejected else 0)
    try:
        _run_with_progress_bar(loader)
    except TenantClosed as error:
        end_command(str(error), FAILED)
    except StoreError as error:
        end_command(
            f"{error}\nStopped at line {progress.line}. The same command continues from there.",
            FAILED,
        )
    _print_report(loader)


def _find_loadable_entity(name: str) -> type[Entity]:
    entity = find_entity(name)
    if entity.versioned_ == "pointer":
        raise OptionError(
            f"{name} is versioned by pointer: its items are written through the API alone"
        )
    if entity.split_field_ is not None:
        raise OptionError(f"{name} is split: its items are written through the API alone")
    return entity


def _open_loader(  # noqa: PLR0913, PLR0917  # the command's options
    entity: type[Entity],
    file: Path,
    tenant: str,
    connection: Connection,
    rate: float | None,
    writers: int,
    restart: bool,
    any_state: bool,
    publish: bool,
) -> Loader:
    table = connection.open(writers, REQUEST_ATTEMPTS, REQUEST_TIMEOUT_S)
    target = (connection.endpoint or "aws", connection.table, tenant, entity.__name__)
    path, now = render_checkpoint_path(file, *target), keys.render_instant(utc_now())
    try:
        checkpoint = open_checkpoint(path, file, now, restart=restart)
    except CheckpointError as error:
        raise CheckpointError(f"{error}; --again starts again") from error
    project = discover_project()
    ledger = project.check_locked(load_ledger())
    admission = CommandAdmission(table, ledger, [entity.__name__], time.sleep)
    admission.check()
    table = table.with_announcement(admission.check)
    in_paths = list_path_only_fields(project, entity)
    progress = checkpoint.progress
    preparer = RowPreparer(table, ledger, tenant, entity, progress, any_state, in_paths, publish)
    plan, pace = ledger.current_generation(entity.__name__).plan, RateLimiter(rate)
    states = tuple(each.name for each in entity.rules_.transitions)
    if plan.derived_uniques or states or entity.rules_.reads_stored:
        check = preparer.find_refusal
        checked = CheckedWriter(table, ledger, plan, writers, pace, utc_now, check, states)
        return Loader(file, checkpoint, preparer, checked)
    return Loader(file, checkpoint, preparer, BatchWriter(table, writers, pace))


def _run_with_progress_bar(loader: Loader) -> None:
    length = loader.source.stat().st_size
    fields = {"total": length, "loaded": loader.checkpoint.progress.loaded}
    shown = "{task.fields[loaded]:,} items"
    with show_progress_bar(loader.source.name, shown, has_end=True, **fields) as update:
        loader.run(lambda loaded, end: update(completed=end, loaded=loaded))


def _print_report(loader: Loader) -> None:
    progress = loader.checkpoint.progress
    typer.echo(f"{loader.source}: {_format_counts(progress)}")
    if not progress.rejected:
        return
    for entry in islice(read_rejected(loader.rejected_file), MAX_PRINTED_ROWS):
        error = entry["error"]
        field = f"{error['field']}: " if error["field"] else ""
        print_message(f"  line {entry['line']}: {field}{error['detail']}")
    if progress.rejected > MAX_PRINTED_ROWS:
        print_message(f"  and {progress.rejected - MAX_PRINTED_ROWS:,} more")
    end_command(f"the rejected rows are in {loader.rejected_file}", ROWS_REJECTED)


def _format_counts(progress: LoadProgress) -> str:
    rejected = f", {progress.rejected:,} rejected" if progress.rejected else ""
    return f"{progress.loaded:,} items loaded{rejected}"
