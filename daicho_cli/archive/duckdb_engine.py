"""DuckDB over the archive's objects, each read and checked by our own reader first.

So an object that is corrupt, or was edited by hand, is named and passed over, where a reader of
files would stop, or believe it. DuckDB does what it is good at: order, aggregates, free SQL.
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
_MOST_DIGITS = 18
_AT_ONCE = 1_000


@contextmanager
def open_engine(rows: Iterable[ArchivedRow], sql: str) -> Iterator[QueryResult]:
    """Answer a statement over rows; they lie in a file of the caller's own meanwhile.

    Raises:
        QueryError: the statement is none, or more than one.
    """
    with TemporaryDirectory(prefix="daicho-archive-") as folder:
        lines = Path(folder) / "rows.ndjson"
        with lines.open("wb") as file:
            file.writelines(_parse_line(row) for row in rows)
        asked = duckdb.connect(":memory:", config={"temp_directory": folder})
        try:
            _load(asked, lines)
            yield _build_statement(asked, sql)
        except duckdb.Error as error:
            raise QueryError(str(error)) from error
        finally:
            asked.close()


def _load(asked: duckdb.DuckDBPyConnection, lines: Path) -> None:
    asked.execute(
        f"CREATE TABLE {ROWS} AS SELECT *, deleted_at[:{_DAY}] AS dt "  # noqa: S608 - constants
        f"FROM read_json(?, format = 'newline_delimited', columns = {_COLUMNS})",
        [str(lines)],
    )
    # Athena's word for what DuckDB calls otherwise: one statement serves both.
    asked.execute("CREATE MACRO json_extract_scalar(j, path) AS json_extract_string(j, path)")
    # From here on a statement reaches nothing but this table.
    asked.execute("SET enable_external_access = false")
    asked.execute("SET lock_configuration = true")


def _build_statement(asked: duckdb.DuckDBPyConnection, sql: str) -> QueryResult:
    statements = asked.extract_statements(sql)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise QueryError("one SELECT at a time")
    found = asked.execute(statements[0])
    columns = [column[0] for column in found.description or ()]
    return QueryResult(columns, _fetch_rows(found))


def _fetch_rows(found: duckdb.DuckDBPyConnection) -> Iterator[Sequence[Any]]:
    while some := found.fetchmany(_AT_ONCE):
        yield from some


def _parse_line(row: ArchivedRow) -> bytes:
    """A row as DuckDB takes it: it knows no half characters, and no numbers beyond 64 bits."""
    line = row.line
    big = row.gen is not None and len(str(row.gen)) > _MOST_DIGITS
    if not big and b"\\ud" not in line:
        return line
    whole = json.loads(line)
    if big:
        whole["gen"] = None
    return json.dumps(whole, ensure_ascii=False).encode(errors="replace") + b"\n"
