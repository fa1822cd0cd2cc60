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
from daicho_cli.archive.options import Entities, KeyParts, Since, Tenant, Until
from daicho_cli.archive.query_result import QueryResult
from daicho_cli.archive.session import ArchiveSession, show_progress
from daicho_cli.archive.sql import Statement, select_rows, select_statement
from daicho_cli.options import LOCAL, StackFile, Stage
from daicho_cli.terminal import INCOMPLETE, SUCCESS, end_on_errors, print_message

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
            help="A SELECT statement over the selected rows: SELECT … FROM archive.",
        ),
    ] = None,
    output: Annotated[Output, typer.Option("--output", "-o", help="The output format.")] = "table",
    limit: Annotated[
        int | None,
        typer.Option(
            min=1, help=f"The most rows. Default: {TABLE_ROWS} in a table, otherwise all."
        ),
    ] = None,
    stage: Stage = None,
    stack: StackFile = LOCAL,
) -> None:
    """Show archived items by entity, tenant, key or time of deletion.

    Only the partitions that can contain these rows are read, so select entities and times. The
    number of objects and bytes is printed on stderr. An object that cannot be read is reported and
    skipped. Exit code 0: all was read. 1: an object was skipped. 2: the command could not run.
    """
    with end_on_errors("archive query"):
        session = ArchiveSession.find(stage, stack)
        selection = options.parse_selection(
            session.ledger, entities=entity, tenant=tenant, key=key, since=since, until=until
        )
        entities = sorted(selection.folders or session.archive.list_entities())
        max_rows = TABLE_ROWS if limit is None and output == "table" and sql is None else limit
        if sql is None:
            statement = select_rows(None if max_rows is None else max_rows + 1)
        else:
            statement = _strip_semicolon(sql)
        broken: list[str] = []
        more: list[bool] = []
        lines: list[str] = []
        with _run_statement(session, selection, entities, statement, broken) as result:
            answer = result if sql is not None else formatting.skip_unreadable(result, lines)
            if sql is None and output == "json":
                answer = formatting.format_rows(answer, session.find_entities())
            elif sql is None:
                known, fields = session.find_entities(), session.list_fields(entities)
                answer = formatting.format_items(answer, fields, known)
            rows = formatting.print_answer(formatting.limit_rows(answer, max_rows, more), output)
    cut = f" (there are more than --limit {max_rows})" if any(more) else ""
    print_message(f"{rows:,} rows{cut}")
    if lines:
        print_message(
            f"{len(lines):,} lines are not JSON: daicho archive verify names their objects"
        )
    raise typer.Exit(INCOMPLETE if broken or lines else SUCCESS)


def choose_engine(session: ArchiveSession) -> Engine:
    """Athena for a deployed stage. The local AWS's Athena takes no parameters: DuckDB there."""
    return "duckdb" if session.stack.is_local else "athena"


@contextmanager
def _run_statement(
    session: ArchiveSession,
    selection: Selection,
    entities: Sequence[str],
    sql: str,
    broken: list[str],
) -> Iterator[QueryResult]:
    """Run a statement on an engine; print what it has read and what cannot be read."""

    def report_broken(name: str, error: object) -> None:
        broken.append(name)
        print_message(f"skipped: {name}: {error}")

    def report_corrupt(name: str, error: CorruptObjectError) -> None:
        report_broken(name, error)

    if choose_engine(session) == "athena" and entities:
        athena = AthenaEngine.open(session.stack)
        objects = list(session.archive.list_selected(selection))
        partitions = {entry.name.rpartition("/")[0] for entry in objects}

        def build_statement(without: Sequence[str]) -> Statement:
            return select_statement(
                sql, (athena.database, athena.table), selection, entities, without
            )

        answer, scanned = athena.answer(build_statement, report_broken)
        print_message(
            f"Athena scanned {scanned:,} bytes of {len(objects):,} objects in "
            f"{len(partitions):,} partitions"
        )
        yield answer
        return
    with ExitStack() as stack:
        with show_progress(session, "reading the archive"):
            rows = session.archive.read_rows(selection, report_corrupt)
            answer = stack.enter_context(duckdb_engine.open_engine(rows, sql))
        print_message(f"DuckDB: {session.reads}, checked and read")
        yield answer


def _strip_semicolon(sql: str) -> str:
    """The caller's statement, without the semicolon at its end."""
    return sql.strip().rstrip(";").strip()
