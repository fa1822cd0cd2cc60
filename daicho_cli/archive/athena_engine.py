"""Athena over the archive: the workgroup and the Glue table of the stack."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import boto3

from daicho_cli.archive.query_result import QueryError, QueryResult
from daicho_cli.archive.sql import Statement, render_literal
from daicho_cli.aws.stacks import Stack

if TYPE_CHECKING:
    from mypy_boto3_athena import AthenaClient

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
        client = boto3.client("athena", endpoint_url=stack.endpoint, region_name=stack.region)
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
