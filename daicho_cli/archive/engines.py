"""The two engines that answer a query of the archive, and the one statement that they run.

The statement reads the relation `ROWS`, which has the columns of an archived line. In DuckDB the
selected rows are in a table of that name. For Athena the selection precedes the statement, as a
common table expression over the Glue table, so that partitions are pruned. Values never become
part of the text: they are parameters.

DuckDB reads rows that our own reader has read and checked. The reader names and skips an object
that is corrupt or was edited by hand. A plain file reader would stop at it or accept it.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import duckdb

from daicho.archive.reader import Selection
from daicho.archive.row_format import ArchivedRow
from daicho.storage import keys
from daicho_cli.aws import Stack
from daicho_cli.terminal import CommandError

if TYPE_CHECKING:
    from mypy_boto3_athena import AthenaClient


class QueryError(CommandError):
    """The engine rejects the statement, or failed."""


@dataclass(frozen=True)
class QueryResult:
    """Columns by name, and rows with a value for each; the rows are read lazily."""

    columns: Sequence[str]
    rows: Iterator[Sequence[Any]]


ROWS = "archive"
COLUMNS = ("tenant", "entity", "gen", "deleted_at", "seq", "raw", "item")
_WITH = re.compile(r"\s*with\b(?!\s+recursive\b)", re.IGNORECASE)
_RECURSIVE = re.compile(r"\s*with\s+recursive\b", re.IGNORECASE)


@dataclass(frozen=True)
class Statement:
    """SQL, and its parameters in order."""

    sql: str
    parameters: tuple[str, ...] = ()


def select_rows(limit: int | None) -> str:
    """The default statement of a query: unchanged rows, in order of deletion."""
    suffix = "" if limit is None else f" LIMIT {limit:d}"
    return f"SELECT {', '.join(COLUMNS)} FROM {ROWS} ORDER BY deleted_at, seq{suffix}"  # noqa: S608


def select_statement(
    sql: str,
    table: tuple[str, str],
    selection: Selection,
    entities: Sequence[str],
    without: Sequence[str] = (),
) -> Statement:
    """A statement over the Glue table ``table`` (database and name), in Athena's SQL.

    ``entities``: only their partitions are read. ``without``: addresses of unreadable objects,
    which the statement skips.
    """
    where, parameters = _render_condition(selection, entities, without)
    # dt is included: grouping by the day of deletion costs nothing.
    columns, name = ", ".join((*COLUMNS, "dt")), ".".join(map(_render_name, table))
    selection_sql = f"SELECT {columns} FROM {name} WHERE {where}"  # noqa: S608 - values are parameters
    common = f"{ROWS} AS ({selection_sql})"
    if match := _RECURSIVE.match(sql):
        statement = f"WITH RECURSIVE {common},{sql[match.end() :]}"
    elif match := _WITH.match(sql):
        statement = f"WITH {common},{sql[match.end() :]}"
    else:
        statement = f"WITH {common} {sql}"
    # The placeholders of these parameters precede everything else in the text.
    return Statement(statement, parameters)


def _render_condition(
    selection: Selection, entities: Sequence[str], without: Sequence[str]
) -> tuple[str, tuple[str, ...]]:
    days, key, since, until = selection.days, selection.key, selection.since, selection.until
    terms: list[tuple[str, Sequence[str]]] = [
        (f"entity IN ({', '.join('?' * len(entities))})", entities),
        ("dt >= ?", [days.first.isoformat()] if days.first > dt.date.min else ()),
        ("dt <= ?", [days.last.isoformat()] if days.last < dt.date.max else ()),
        ("tenant = ?", () if selection.tenant is None else [selection.tenant]),
        ("deleted_at >= ?", [keys.render_instant(since)] if since else ()),
        ("deleted_at < ?", [keys.render_instant(until)] if until else ()),
        ("json_extract_scalar(item, '$.PK.S') = ?", [key.pk] if key else ()),
        ("json_extract_scalar(item, '$.SK.S') = ?", [key.sk] if key else ()),
        (f'"$path" NOT IN ({", ".join("?" * len(without))})', without),
    ]
    used = [(condition, values) for condition, values in terms if values]
    conditions = " AND ".join(condition for condition, _ in used)
    return conditions, tuple(value for _, values in used for value in values)


def _render_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def render_literal(value: str) -> str:
    """An execution parameter for Athena: any text as an SQL literal."""
    return "'" + value.replace("'", "''") + "'"


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


PAUSE = 0.5
MAX_SECONDS = 30 * 60
"""Athena ends a query after this time."""
MAX_SKIPPED = 20
_ADDRESS = re.compile(r"s3://[^\s,;'\"()\]]+\.json\.gz")


@dataclass
class AthenaEngine:
    """A workgroup, with the database and the table that it queries."""

    client: AthenaClient
    workgroup: str
    database: str
    table: str
    sleep: Callable[[float], None] = time.sleep

    @classmethod
    def open(cls, stack: Stack) -> AthenaEngine:
        """Open the engine of a stack.

        Raises:
            StackError: the stack has none.
        """
        workgroup, database, table = (
            stack[f"Archive{part}Name"] for part in ("Workgroup", "Database", "Table")
        )
        client = stack.open_client("athena")
        return cls(client, workgroup, database, table)

    def answer(
        self,
        statement: Callable[[Sequence[str]], Statement],
        broken: Callable[[str, str], None],
    ) -> tuple[QueryResult, int]:
        """Run a statement; return the answer and the number of bytes that Athena has scanned.

        If Athena fails at an object, ``broken`` receives the name of the object and the cause,
        and the statement runs again without that object.

        Raises:
            QueryError: Athena rejects the statement, or fails and names no object.
            ClientError, BotoCoreError: AWS refuses.
        """
        without: list[str] = []
        scanned = 0
        while True:
            query = statement(without)
            id, state = self._run(query)
            scanned += state.get("Statistics", {}).get("DataScannedInBytes", 0)
            if state["Status"]["State"] == "SUCCEEDED":
                return self._read_results(id), scanned
            reason = state["Status"].get("StateChangeReason", "no reason was given")
            match = _ADDRESS.search(reason)
            if match is None or match[0] in without or len(without) == MAX_SKIPPED:
                raise QueryError(f"Athena failed: {reason}")
            without.append(match[0])
            broken(match[0].split("/", 3)[-1], reason)

    def _run(self, statement: Statement) -> tuple[str, dict[str, Any]]:
        parameters: dict[str, Any] = {}
        if statement.parameters:
            literals = [render_literal(value) for value in statement.parameters]
            parameters["ExecutionParameters"] = literals
        id = self.client.start_query_execution(
            QueryString=statement.sql,
            QueryExecutionContext={"Database": self.database},
            WorkGroup=self.workgroup,
            **parameters,
        )["QueryExecutionId"]
        waited = 0.0
        try:
            while waited < MAX_SECONDS:
                state: Any = self.client.get_query_execution(QueryExecutionId=id)["QueryExecution"]
                if state["Status"]["State"] in {"SUCCEEDED", "FAILED", "CANCELLED"}:
                    return id, state
                self.sleep(PAUSE)
                waited += PAUSE
        except BaseException:  # also when the caller interrupts it
            self.client.stop_query_execution(QueryExecutionId=id)
            raise
        raise QueryError(f"Athena has not answered for {MAX_SECONDS} seconds (query {id})")

    def _read_results(self, id: str) -> QueryResult:
        pages = self.client.get_paginator("get_query_results").paginate(QueryExecutionId=id)
        rows = _parse_rows(pages)
        return QueryResult([str(name) for name in next(rows, [])], rows)


def _parse_rows(pages: Any) -> Iterator[list[Any]]:
    """Rows of text; the first row has the names of the columns. NULL becomes None."""
    for page in pages:
        for row in page["ResultSet"]["Rows"]:
            yield [cell.get("VarCharValue") for cell in row["Data"]]
