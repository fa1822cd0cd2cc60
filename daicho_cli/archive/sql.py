"""DuckDB answers a query of the archive over rows that our own reader has read and checked.

The reader names and skips an object that is corrupt or was edited by hand. A plain file reader
would stop at it or accept it. The statement reads the relation `ROWS`, which has the columns of an
archived line, and the names of functions are those of Athena: a saved statement serves both.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb

from daicho.archive.row_format import ArchivedRow
from daicho_cli.terminal import CommandError


class QueryError(CommandError):
    """DuckDB rejects the statement, or failed."""


@dataclass(frozen=True)
class QueryResult:
    """Columns by name, and rows with a value for each; the rows are read lazily."""

    columns: Sequence[str]
    rows: Iterator[Sequence[Any]]


ROWS = "archive"
COLUMNS = ("tenant", "entity", "gen", "deleted_at", "seq", "raw", "item")


def select_rows(limit: int | None) -> str:
    """The default statement of a query: unchanged rows, in order of deletion."""
    suffix = "" if limit is None else f" LIMIT {limit:d}"
    return f"SELECT {', '.join(COLUMNS)} FROM {ROWS} ORDER BY deleted_at, seq{suffix}"  # noqa: S608


_COLUMNS = (
    "{tenant: 'VARCHAR', entity: 'VARCHAR', gen: 'BIGINT', deleted_at: 'VARCHAR', "
    "seq: 'VARCHAR', raw: 'BOOLEAN', item: 'JSON'}"
)
_DAY = 10
_MAX_DIGITS = 18
_ROWS_PER_FETCH = 1_000


@contextmanager
def run_statement(rows: Iterable[ArchivedRow], sql: str) -> Iterator[QueryResult]:
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
            yield _select(connection, sql)
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


def _select(connection: duckdb.DuckDBPyConnection, sql: str) -> QueryResult:
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
