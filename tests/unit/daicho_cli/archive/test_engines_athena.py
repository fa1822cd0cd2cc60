"""Athena: what it is asked, and what becomes of its answers. DuckDB stands in for its engine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import boto3
import duckdb
import pytest

from daicho.archive.reader import Selection
from tests.support.archive_commands import LOCAL_STACK, STACK, Commanded
from tests.support.memory_archive import Kept, render_link_name


class Engine:
    """Answers as Athena does: text in pages, the columns first; stumbles over named objects."""

    def __init__(self, kept: Kept) -> None:
        self.kept = kept
        self.asked: list[dict[str, Any]] = []
        self.stumbles: list[str] = []
        self.done: dict[str, Any] = {}
        self.stopped: list[str] = []
        self.scanned = 100

    def client(self, *_: Any, **__: Any) -> Engine:
        return self

    def start_query_execution(self, **request: Any) -> dict[str, str]:
        self.asked.append(request)
        id = f"q{len(self.asked)}"
        values = [each[1:-1].replace("''", "'") for each in request.get("ExecutionParameters", ())]
        passed = set(values)
        if stumbled := [each for each in self.stumbles if f"s3://b/{each}" not in passed]:
            why = f"HIVE_CURSOR_ERROR: Failed to read file: s3://b/{stumbled[0]}, as it is cut"
            self.done[id] = why
            return {"QueryExecutionId": id}
        with duckdb.connect(":memory:") as engine:
            self._fill(engine)
            try:
                found = engine.execute(request["QueryString"], values)
                columns = [column[0] for column in found.description or ()]
                self.done[id] = [columns, *found.fetchall()]
            except duckdb.Error as error:
                self.done[id] = f"SYNTAX_ERROR: {error}"
        return {"QueryExecutionId": id}

    def _fill(self, engine: duckdb.DuckDBPyConnection) -> None:
        engine.execute("CREATE SCHEMA daicho_test")
        engine.execute(
            "CREATE TABLE daicho_test.archive (tenant VARCHAR, gen INT, deleted_at VARCHAR, "
            'seq VARCHAR, raw BOOLEAN, item VARCHAR, entity VARCHAR, dt VARCHAR, "$path" VARCHAR)'
        )
        engine.execute("CREATE MACRO json_extract_scalar(j, p) AS json_extract_string(j, p)")
        for each in self.kept.archive.list_selected(Selection(("Download",))):
            for row in self.kept.archive.read(each.name).rows:
                line = json.loads(row.line)
                path = f"s3://b/{each.name}"
                told = [line[name] for name in ("tenant", "gen", "deleted_at", "seq", "raw")]
                more = [json.dumps(line["item"]), line["entity"], line["deleted_at"][:10], path]
                engine.execute(
                    "INSERT INTO daicho_test.archive VALUES (?,?,?,?,?,?,?,?,?)", [*told, *more]
                )

    def get_query_execution(self, QueryExecutionId: str) -> dict[str, Any]:
        done = self.done[QueryExecutionId]
        failed = isinstance(done, str)
        status = (
            {"State": "FAILED", "StateChangeReason": done} if failed else {"State": "SUCCEEDED"}
        )
        statistics = {"DataScannedInBytes": self.scanned}
        return {"QueryExecution": {"Status": status, "Statistics": statistics}}

    def stop_query_execution(self, QueryExecutionId: str) -> None:
        self.stopped.append(QueryExecutionId)

    def get_paginator(self, name: str) -> Engine:
        assert name == "get_query_results"
        return self

    def paginate(self, QueryExecutionId: str) -> Iterator[dict[str, Any]]:
        for row in self.done[QueryExecutionId]:
            data = [{} if each is None else {"VarCharValue": text(each)} for each in row]
            yield {"ResultSet": {"Rows": [{"Data": data}]}}


def text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@pytest.fixture
def engine(made: Commanded, monkeypatch: pytest.MonkeyPatch) -> Engine:
    engine = Engine(made.kept)
    monkeypatch.setattr(boto3, "client", engine.client)
    return engine


Ask = Callable[..., Any]


@pytest.fixture
def ask(made: Commanded) -> Ask:
    """Runs ``archive query`` with an engine: a deployed stage has Athena, the local one DuckDB."""

    def run(engine: str, *arguments: str) -> Any:
        made.stack = STACK if engine == "athena" else LOCAL_STACK
        return made.run("query", *arguments)

    return run


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--tenant", "u"),
        ("--since", "2026-11-22"),
        ("--until", "2026-11-21"),
        ("--entity", "Download", "--since", "2026-11-21", "--until", "2026-11-22", "--limit", "3"),
        ("--entity", "Download", "--tenant", "t", "--key", "song=1", "--key", "id=2"),
        ("--sql", "SELECT dt, count(*) AS rows FROM archive GROUP BY dt ORDER BY dt"),
        ("--sql", "with x AS (SELECT tenant FROM archive) SELECT * FROM x ORDER BY 1"),
    ],
)
def test_both_engines_answer_alike(ask: Ask, engine: Engine, arguments: Sequence[str]) -> None:
    one, other = (ask(each, "-o", "csv", *arguments) for each in ("duckdb", "athena"))
    assert (one.exit_code, other.exit_code) == (0, 0), other.output
    assert one.stdout == other.stdout
    assert one.stdout.count("\n") > 1
    if "--sql" not in arguments:
        whole = [
            json.loads(ask(each, "-o", "json", *arguments).stdout) for each in ("duckdb", "athena")
        ]
        assert whole[0] == whole[1]


def test_what_it_scanned_is_said(ask: Ask, engine: Engine) -> None:
    engine.scanned = 12_345
    result = ask("athena", "--until", "2026-11-21", "-o", "json")
    assert "Athena scanned 12,345 bytes of 2 objects in 1 partitions" in result.stderr


def test_an_object_that_it_breaks_off_at_is_named_and_the_rest_is_shown(
    ask: Ask, engine: Engine
) -> None:
    engine.stumbles = [render_link_name(0), render_link_name(2)]
    result = ask("athena", "-o", "json")
    assert result.exit_code == 1
    for name in engine.stumbles:
        assert f"skipped: {name}: HIVE_CURSOR_ERROR" in result.stderr
    assert [row["item"]["id"] for row in json.loads(result.stdout)] == ["4"]
    assert len(engine.asked) == 3
    assert "scanned 300 bytes" in result.stderr  # all three attempts are paid


def test_a_statement_that_it_does_not_take_is_said(ask: Ask, engine: Engine) -> None:
    result = ask("athena", "--sql", "SELECT nothing FROM archive")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Athena failed: SYNTAX_ERROR" in result.stderr
    assert len(engine.asked) == 1


def test_lines_that_are_no_rows_are_said(ask: Ask, engine: Engine) -> None:
    def answered(QueryExecutionId: str) -> Iterator[dict[str, Any]]:
        yield {"ResultSet": {"Rows": [{"Data": [{"VarCharValue": c} for c in COLUMNS]}]}}
        yield {"ResultSet": {"Rows": [{"Data": [{} for _ in COLUMNS]}]}}

    engine.paginate = answered  # type: ignore[method-assign]
    result = ask("athena", "-o", "json")
    assert result.exit_code == 1
    assert json.loads(result.stdout) == []
    assert "1 lines are not JSON: daicho archive verify names their objects" in result.stderr


COLUMNS = ("tenant", "entity", "gen", "deleted_at", "seq", "raw", "item")
