"""DuckDB over the archive's objects, after our own reader has read and checked each object.

The reader names and skips an object that is corrupt or was edited by hand. A plain file reader
would stop at it or accept it. DuckDB does the ordering, the aggregates and the free SQL.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb

from daicho.archive.row_format import ArchivedRow
from daicho_cli.archive.query_result import QueryError, QueryResult
from daicho_cli.archive.sql import ROWS

_COLUMNS = (
    "{tenant: 'VARCHAR', entity: 'VARCHAR', gen: 'BIGINT', deleted_at: 'VARCHAR', "
    "seq: 'VARCHAR', raw: 'BOOLEAN', item: 'JSON'}"
)
_DAY = 10
_MAX_DIGITS = 18
_ROWS_PER_FETCH = 1_000


@contextmanager
def open_engine(rows: Iterable[ArchivedRow], sql: str) -> Iterator[QueryResult]:
    """Answer a statement over rows; meanwhile the rows are in a temporary file.

    Raises:
        QueryError: the text is not exactly one valid statement.
    """
    with TemporaryDirectory(prefix="daicho-archive-") as folder:
        lines = Path(folder) / "rows.ndjson"
        with lines.open("wb") as file:
            file.writelines(_render_line(row) for row in rows)
        connection = duckdb.connect(":memory:", config={"temp_directory": folder})
        try:
            _load(connection, lines)
            yield _run_statement(connection, sql)
        except duckdb.Error as error:
            raise QueryError(str(error)) from error
        finally:
            connection.close()


def _load(connection: duckdb.DuckDBPyConnection, lines: Path) -> None:
    connection.execute(
        f"CREATE TABLE {ROWS} AS SELECT *, deleted_at[:{_DAY}] AS dt "  # noqa: S608 - constants
        f"FROM read_json(?, format = 'newline_delimited', columns = {_COLUMNS})",
        [str(lines)],
    )
    # Athena's name for a function that DuckDB names differently: one statement serves both.
    connection.execute("CREATE MACRO json_extract_scalar(j, path) AS json_extract_string(j, path)")
    # From here on a statement can read this table only.
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _run_statement(connection: duckdb.DuckDBPyConnection, sql: str) -> QueryResult:
    statements = connection.extract_statements(sql)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise QueryError("one SELECT at a time")
    result = connection.execute(statements[0])
    columns = [column[0] for column in result.description or ()]
    return QueryResult(columns, _fetch_rows(result))


def _fetch_rows(result: duckdb.DuckDBPyConnection) -> Iterator[Sequence[Any]]:
    while rows := result.fetchmany(_ROWS_PER_FETCH):
        yield from rows


def _render_line(row: ArchivedRow) -> bytes:
    """A row for DuckDB, which accepts no lone surrogates and no numbers beyond 64 bits."""
    line = row.line
    big = row.gen is not None and len(str(row.gen)) > _MAX_DIGITS
    if not big and b"\\ud" not in line:
        return line
    values = json.loads(line)
    if big:
        values["gen"] = None
    return json.dumps(values, ensure_ascii=False).encode(errors="replace") + b"\n"
