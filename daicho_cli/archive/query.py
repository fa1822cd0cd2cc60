"""``daicho archive query``: expired items, by entity, tenant, key and time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Annotated, Literal

import typer

from daicho.archive.object_format import CorruptObjectError
from daicho.archive.reader import Selection
from daicho_cli.archive import duckdb_engine, formatting, options
from daicho_cli.archive.athena_engine import AthenaEngine
from daicho_cli.archive.formatting import Output
from daicho_cli.archive.options import (
    LOCAL,
    Entities,
    KeyParts,
    OptionError,
    Since,
    StackFile,
    Stage,
    Tenant,
    Until,
)
from daicho_cli.archive.query_result import QueryResult
from daicho_cli.archive.session import (
    FOUND,
    SOUND,
    ArchiveSession,
    end_on_errors,
    print_message,
    show_progress,
)
from daicho_cli.archive.sql import Statement, select_rows, select_statement

Engine = Literal["athena", "duckdb"]
TABLE_ROWS = 100
"""The row limit of a table without ``--limit``; JSON and CSV have all rows."""


def query(  # noqa: PLR0913, PLR0917  # the command's options
    entity: Entities = None,
    tenant: Tenant = None,
    key: KeyParts = None,
    since: Since = None,
    until: Until = None,
    sql: Annotated[
        str | None,
        typer.Option(
            help="A SELECT of your own over the rows that are chosen, FROM archive.",
        ),
    ] = None,
    engine: Annotated[
        Engine | None,
        typer.Option(help="Default: Athena of a deployed stage, DuckDB of the local stack."),
    ] = None,
    output: Annotated[Output, typer.Option("--output", "-o", help="How.")] = "table",
    limit: Annotated[
        int | None,
        typer.Option(min=1, help=f"Rows at most. Default: {TABLE_ROWS} of a table, else all."),
    ] = None,
    stage: Stage = None,
    stack: StackFile = LOCAL,
) -> None:
    """Show archived items: of an entity, a tenant, a key, a time of deletion.

    Only the partitions that can hold them are read: name entities and times. How many objects and
    bytes it were stands on stderr, beside the answer. An object that cannot be read is named and
    passed over. Exit code 0: all was read. 1: an object was passed over. 2: it could not run.
    """
    with end_on_errors("query"):
        opened = ArchiveSession.find(stage, stack)
        selection = options.parse_selection(
            opened.ledger, entities=entity, tenant=tenant, key=key, since=since, until=until
        )
        entities = sorted(selection.folders or opened.archive.list_entities())
        if engine is None:
            engine = "duckdb" if opened.stack.is_local else "athena"
        if engine == "athena" and opened.stack.is_local:
            raise OptionError("--engine athena: the local AWS's takes no parameters")
        most = TABLE_ROWS if limit is None and output == "table" and sql is None else limit
        statement = (
            select_rows(None if most is None else most + 1) if sql is None else _run_statement(sql)
        )
        broken: list[str] = []
        more: list[bool] = []
        lines: list[str] = []
        with _choose_engine(opened, engine, selection, entities, statement, broken) as result:
            answer = result if sql is not None else formatting.format_readable(result, lines)
            if sql is None and output == "json":
                answer = formatting.format_rows(answer)
            elif sql is None:
                answer = formatting.format_items(answer, opened.list_fields(entities))
            rows = formatting.format_answer(formatting.limit_rows(answer, most, more), output)
    cut = f" (there are more: --limit {most} is over)" if any(more) else ""
    print_message(f"{rows:,} rows{cut}")
    if lines:
        print_message(
            f"{len(lines):,} lines are no rows: daicho archive verify names their objects"
        )
    raise typer.Exit(FOUND if broken or lines else SOUND)


@contextmanager
def _choose_engine(
    opened: ArchiveSession,
    engine: Engine,
    selection: Selection,
    entities: Sequence[str],
    sql: str,
    broken: list[str],
) -> Iterator[QueryResult]:
    """Answer with one of the engines; print what was read and what cannot be read."""

    def named(name: str, why: object) -> None:
        broken.append(name)
        print_message(f"passed over: {name}: {why}")

    def corrupt(name: str, error: CorruptObjectError) -> None:
        named(name, error)

    if engine == "athena" and entities:
        athena = AthenaEngine.open(opened.stack)
        wanted = list(opened.archive.list_selected(selection))
        partitions = {entry.name.rpartition("/")[0] for entry in wanted}

        def made(without: Sequence[str]) -> Statement:
            return select_statement(
                sql, (athena.database, athena.table), selection, entities, without
            )

        answer, scanned = athena.answer(made, named)
        print_message(
            f"Athena scanned {scanned:,} bytes of {len(wanted):,} objects in "
            f"{len(partitions):,} partitions"
        )
        yield answer
        return
    with ExitStack() as kept:
        with show_progress(opened, "reading the archive"):
            rows = opened.archive.read_rows(selection, corrupt)
            answer = kept.enter_context(duckdb_engine.open_engine(rows, sql))
        print_message(f"DuckDB: {opened.touched}, checked and read")
        yield answer


def _run_statement(sql: str) -> str:
    """The caller's statement, without the semicolon at its end."""
    return sql.strip().rstrip(";").strip()
