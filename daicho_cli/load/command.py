"""``daicho load``: a file of rows into the table."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from daicho.declare.entity import Entity
from daicho.errors import StoreError, TenantClosed
from daicho.plan import Ledger
from daicho.runtime.clock import utc_now
from daicho.runtime.rate_limit import RateLimiter
from daicho.storage import keys
from daicho.storage.keys import TENANT
from daicho_cli.aws.connection import Connection
from daicho_cli.aws.stacks import STACK_FILE, StackError
from daicho_cli.load.batch_writer import BatchWriter
from daicho_cli.load.checkpoint import ChangedError, LoadTarget, State
from daicho_cli.load.loader import Loader, read_rejected
from daicho_cli.load.row_preparer import RowPreparer
from daicho_cli.load.row_reader import is_array
from daicho_cli.project import discover_project

SHOWN_REJECTS = 10


def load(  # noqa: PLR0913, PLR0917  # the command's options
    entity: Annotated[str, typer.Argument(help="The entity's name: Song.")],
    file: Annotated[
        Path, typer.Argument(help="A JSON array or NDJSON.", exists=True, dir_okay=False)
    ],
    tenant: Annotated[str, typer.Option(help="Whose items they become.")],
    table: Annotated[str | None, typer.Option(help="Default: the local stack's.")] = None,
    endpoint: Annotated[str | None, typer.Option(help="Of a DynamoDB that is not AWS's.")] = None,
    stack: Annotated[
        Path, typer.Option(help="What names the default table.", show_default=".local/stack.json")
    ] = STACK_FILE,
    rate: Annotated[float | None, typer.Option(min=1, help="Items a second at most.")] = None,
    writers: Annotated[int, typer.Option(min=1, max=64, help="Batches at once.")] = 4,
    again: Annotated[
        bool, typer.Option("--again", help="Begin anew, whatever was loaded before.")
    ] = False,
) -> None:
    """Load the rows of FILE as items of ENTITY.

    An item that is there already is replaced. A load that was cut off goes on where it was when
    it is called again. Rows that the entity refuses are put aside in FILE.rejected.ndjson, the
    rest is loaded; the exit code is then 3.
    """
    kind = _get_entity(entity)
    _check_tenant(tenant)
    if kind.versioned_ == "pointer":
        _exit_process(
            f"{entity} is versioned by pointer: its items are written through the API alone"
        )
    try:
        connection = Connection.find(table, endpoint, stack)
        opened = connection.open(writers)
    except StackError as error:
        _exit_process(str(error))
    target = LoadTarget(connection.endpoint or "aws", connection.table, tenant, entity)
    state_file = target.render_state_path(file)
    try:
        state = State.open(state_file, file, keys.render_instant(utc_now()), anew=again)
    except ChangedError as error:
        _exit_process(f"{error}; --again begins anew")
    if state.finished:
        typer.echo(f"{file} was loaded before: {_format_count(state)}. --again loads it once more.")
        raise typer.Exit(3 if state.rejected else 0)
    preparer = RowPreparer(
        opened, discover_project().check_locked(Ledger.load()), tenant, kind, state
    )
    loader = Loader(
        file, state_file, state, preparer, BatchWriter(opened, writers, RateLimiter(rate))
    )
    try:
        _run(loader)
    except TenantClosed as error:
        _exit_process(str(error))
    except StoreError as error:
        _exit_process(
            f"{error}\nStopped at line {state.line}. The same command goes on from there."
        )
    _print_report(loader)


def _run(loader: Loader) -> None:
    whole = loader.source.stat().st_size
    if is_array(loader.source):
        whole = len(loader.source.read_text(encoding="utf-8", errors="surrogateescape"))
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[loaded]:,} items"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(loader.source.name, total=whole, loaded=loader.state.loaded)
        loader.run(lambda loaded, end: bar.update(task, completed=end, loaded=loaded))


def _print_report(loader: Loader) -> None:
    state = loader.state
    typer.echo(f"{loader.source}: {_format_count(state)}")
    if not state.rejected:
        return
    for entry in islice(read_rejected(loader.rejects), SHOWN_REJECTS):
        error = entry["error"]
        where = f"{error['field']}: " if error["field"] else ""
        typer.echo(f"  line {entry['line']}: {where}{error['detail']}", err=True)
    if state.rejected > SHOWN_REJECTS:
        typer.echo(f"  and {state.rejected - SHOWN_REJECTS:,} more", err=True)
    typer.echo(f"put aside in {loader.rejects}", err=True)
    raise typer.Exit(3)


def _format_count(state: State) -> str:
    rejected = f", {state.rejected:,} rejected" if state.rejected else ""
    return f"{state.loaded:,} items loaded{rejected}"


def _get_entity(name: str) -> type[Entity]:
    daicho = discover_project()
    try:
        return daicho.get_entity(name)
    except KeyError:
        choices = ", ".join(sorted(entity.__name__ for entity in daicho.entities))
        _exit_process(f"no entity is called {name}; there are {choices}")


def _check_tenant(tenant: str) -> None:
    if not TENANT.fullmatch(tenant):
        _exit_process(
            f"{tenant!r} is no tenant that a token could name: a-z, 0-9 and -, at most 63"
        )


def _exit_process(message: str) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(1)
