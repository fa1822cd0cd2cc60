"""Athena over the archive: the workgroup and the Glue table that the stack has."""

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
"""Athena ends a query by itself after so long."""
MAX_SKIPPED = 20
_ADDRESS = re.compile(r"s3://[^\s,;'\"()\]]+\.json\.gz")


@dataclass
class AthenaEngine:
    """A workgroup, and the database and table that it asks."""

    client: AthenaClient
    workgroup: str
    database: str
    table: str
    sleep: Callable[[float], None] = time.sleep

    @classmethod
    def open(cls, stack: Stack) -> AthenaEngine:
        """The stack's.

        Raises:
            StackError: the stack has none.
        """
        workgroup, database, table = (
            stack[f"Archive{each}Name"] for each in ("Workgroup", "Database", "Table")
        )
        client = boto3.client("athena", endpoint_url=stack.endpoint, region_name=stack.region)
        return cls(client, workgroup, database, table)

    def answer(
        self,
        statement: Callable[[Sequence[str]], Statement],
        broken: Callable[[str, str], None],
    ) -> tuple[QueryResult, int]:
        """Run a statement; gives the answer, and how many bytes Athena has scanned.

        An object that Athena breaks off at is told to ``broken`` by its name and why, and the
        statement is made anew without it.

        Raises:
            QueryError: Athena does not take it, or breaks off and names no object.
            ClientError, BotoCoreError: AWS refuses.
        """
        without: list[str] = []
        scanned = 0
        while True:
            asked = statement(without)
            id, state = self._run(asked)
            scanned += state.get("Statistics", {}).get("DataScannedInBytes", 0)
            if state["Status"]["State"] == "SUCCEEDED":
                return self._read_results(id), scanned
            why = state["Status"].get("StateChangeReason", "it does not say why")
            found = _ADDRESS.search(why)
            if found is None or found[0] in without or len(without) == MAX_SKIPPED:
                raise QueryError(f"Athena broke off: {why}")
            without.append(found[0])
            broken(found[0].split("/", 3)[-1], why)

    def _run(self, statement: Statement) -> tuple[str, dict[str, Any]]:
        more: dict[str, Any] = {}
        if statement.parameters:
            more["ExecutionParameters"] = [render_literal(each) for each in statement.parameters]
        id = self.client.start_query_execution(
            QueryString=statement.sql,
            QueryExecutionContext={"Database": self.database},
            WorkGroup=self.workgroup,
            **more,
        )["QueryExecutionId"]
        waited = 0.0
        try:
            while waited < MAX_SECONDS:
                state: Any = self.client.get_query_execution(QueryExecutionId=id)["QueryExecution"]
                if state["Status"]["State"] in {"SUCCEEDED", "FAILED", "CANCELLED"}:
                    return id, state
                self.sleep(PAUSE)
                waited += PAUSE
        except BaseException:  # also when the caller breaks it off
            self.client.stop_query_execution(QueryExecutionId=id)
            raise
        raise QueryError(f"Athena has not answered for {MAX_SECONDS} seconds (query {id})")

    def _read_results(self, id: str) -> QueryResult:
        pages = self.client.get_paginator("get_query_results").paginate(QueryExecutionId=id)
        rows = _parse_rows(pages)
        return QueryResult([str(each) for each in next(rows, [])], rows)


def _parse_rows(pages: Any) -> Iterator[list[Any]]:
    """Rows of text; the first holds the columns' names. A value that is NULL is None."""
    for page in pages:
        for row in page["ResultSet"]["Rows"]:
            yield [each.get("VarCharValue") for each in row["Data"]]
