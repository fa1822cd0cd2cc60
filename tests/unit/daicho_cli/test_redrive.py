"""``daicho redrive``: how it calls the function, what it shows, and its exit codes."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from typer.testing import CliRunner

from daicho_cli.main import app

NOTHING: dict[str, Any] = {
    "claims": [],
    "discarded": [],
    "recount": [],
    "applied": 0,
    "already_done": 0,
    "uncertain": 0,
    "still_failing": 0,
    "finished": True,
    "cursor": None,
}
LABEL = "2026-11-21T00:00:00.000"


def claim(number: int, message: str = "no such field", state: str = "open") -> dict[str, Any]:
    return {
        "shard": "shardId-1",
        "seq": f"{LABEL}#{number:040}",
        "state": state,
        "entity": "Song",
        "item": [f"acme#Song#s{number}", "-"],
        "error": {"type": "UnderivableError", "message": message},
        "at": "2026-11-21T10:11:12.131415Z",
    }


BATCH = {
    "name": "aws/lambda/m/shardId-1/2026/11/21/2026-11-21T10.11.12-r",
    "function": "Daicho-dev-Archive",
    "condition": "RetryAttemptsExhausted",
    "shard": "shardId-1",
    "first": "7",
    "last": "9",
    "at": "2026-11-21T10:11:12.000Z",
    "records": 3,
    "error": "of Daicho-dev-Archive: left in place",
}
RECOUNT = {"tally": "acme#+Song.chart#1", "numbers": ["1", "2"], "since": "2026-11-21T10:11:12Z"}


class Lambda:
    """Answers calls one after the other; keeps what it was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[dict[str, Any]] = []
        self.called: set[str] = set()
        self.made: list[tuple[str, dict[str, Any]]] = []

    def invoke(self, FunctionName: str, Payload: bytes) -> dict[str, Any]:
        self.called.add(FunctionName)
        self.asked.append(json.loads(Payload))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        failed = {"FunctionError": "Unhandled"} if "errorType" in answer else {}
        return {"Payload": io.BytesIO(json.dumps(answer).encode()), **failed}

    def describe_stacks(self, StackName: str) -> dict[str, Any]:
        if StackName != "Daicho-dev":
            message = f"no stack {StackName}"
            raise ClientError({"Error": {"Message": message}}, "DescribeStacks")
        output = {"OutputKey": "RedriveFunctionName", "OutputValue": "Daicho-dev-Redrive"}
        return {"Stacks": [{"Outputs": [output]}]}

    def client(self, service: str, **given: Any) -> Lambda:
        self.made.append((service, given))
        return self


@pytest.fixture
def stack_file(tmp_path: Path) -> Path:
    file = tmp_path / "stack.json"
    local = {"endpoint": "http://127.0.0.1:4566", "region": "us-east-1"}
    file.write_text(json.dumps({**local, "functions": {"redrive": "local-redrive"}}))
    return file


Run = Callable[..., tuple[Lambda, Any]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, stack_file: Path) -> Run:
    """Run the command against a function that gives these answers."""

    def run(*arguments: str, answers: tuple[Any, ...], text: str = "") -> tuple[Lambda, Any]:
        found = Lambda(*answers)
        monkeypatch.setattr(boto3, "client", found.client)
        monkeypatch.setattr(boto3.Session, "client", found_of(found))
        place = () if "--stage" in arguments else ("--stack", str(stack_file))
        environment = {"COLUMNS": "300"}
        given = ["redrive", *arguments, *place]
        return found, CliRunner().invoke(app, given, input=text, env=environment)

    return run


def found_of(found: Lambda) -> Callable[..., Lambda]:
    return lambda _session, service, **given: found.client(service, **given)


def test_a_list_applies_nothing_and_shows_each_record_with_its_error(run: Run) -> None:
    pages = (
        {**NOTHING, "claims": [claim(1)], "finished": False, "cursor": "c"},
        {**NOTHING, "claims": [claim(99, "[bold]late", "uncertain")]},
    )
    called, result = run("--list", answers=pages)
    assert called.called == {"local-redrive"}
    assert {each["action"] for each in called.asked} == {"list"}
    assert result.exit_code == 1
    for shown in (
        "acme#Song#s1 -",
        "UnderivableError: no such field",
        "shardId-1 99",
        "uncertain",
        "[bold]late",
        "2026-11-21 10:11:12",
    ):
        assert shown in result.stdout
    assert result.stdout.endswith("left: 2 records\n")


def test_what_could_not_be_decided_is_named_and_is_not_done(run: Run) -> None:
    applied = {**NOTHING, "applied": 1, "uncertain": 1}
    _, result = run(answers=(applied, {**NOTHING, "recount": [RECOUNT], "discarded": [BATCH]}))
    assert result.exit_code == 1
    for shown in ("acme#+Song.chart#1", "Tallies to recount", BATCH["name"], BATCH["error"]):
        assert str(shown) in result.stdout
    assert result.stdout.endswith(
        "1 applied; 1 of them could not be counted; left: 1 discarded batches, "
        "1 tallies to recount\n"
    )


def test_why_a_batch_could_not_be_archived_is_shown(run: Run) -> None:
    waits = {name: value for name, value in BATCH.items() if name != "error"}
    tried = {**NOTHING, "discarded": [{**waits, "error": "row 7 of link 3 cannot be read"}]}
    _, result = run(answers=(tried, {**NOTHING, "discarded": [waits]}))
    assert result.exit_code == 1
    assert "row 7 of link 3 cannot be read" in result.stdout


def test_a_stage_is_found_by_the_outputs_of_its_stack(run: Run) -> None:
    called, result = run("--stage", "dev", answers=(NOTHING, NOTHING))
    assert (result.exit_code, result.stdout) == (0, "0 applied; nothing is left\n")
    assert [each["action"] for each in called.asked] == ["apply", "list"]
    assert called.called == {"Daicho-dev-Redrive"}
    _, result = run("--stage", "prod", answers=())
    assert result.exit_code == 2
    assert "no stack Daicho-prod" in result.stderr


PREVIEW = {
    **NOTHING,
    "refused": "",
    "wait": 0,
    "dismissed": 0,
    "dismissals": [
        {
            "item": ["acme#Song#s1", "-"],
            "claims": ["shardId-1/1", "shardId-1/2"],
            "becomes_empty": True,
            "recount": ["Song"],
        }
    ],
}


def test_a_dismissal_is_shown_and_confirmed(run: Run) -> None:
    under_way = {**PREVIEW, "finished": False, "cursor": "dismiss#x#", "dismissed": 1}
    answers = (PREVIEW, under_way, {**PREVIEW, "dismissed": 2}, NOTHING)
    called, result = run("--dismiss", answers=answers, text="y\n")
    assert result.exit_code == 0, result.output
    assert "acme#Song#s1 -: 2 records; the item becomes empty; to recount: Song" in result.output
    assert "  shardId-1/2\n" in result.output
    assert "3 records dismissed" in result.output
    assert [each["action"] for each in called.asked] == ["preview", "dismiss", "dismiss", "list"]
    assert called.asked[2]["cursor"] == "dismiss#x#"


@pytest.mark.parametrize(
    ("options", "entity", "item"),
    [(("--entity", "Song"), "Song", None), (("--item", "t#Song#1", "-"), "", ["t#Song#1", "-"])],
)
def test_without_consent_nothing_is_dismissed(
    run: Run, options: tuple[str, ...], entity: str, item: list[str] | None
) -> None:
    called, result = run("--dismiss", *options, answers=(PREVIEW,), text="n\n")
    assert result.exit_code == 1
    assert called.asked == [{"action": "preview", "claims": None, "entity": entity, "item": item}]


def test_a_refused_dismissal_is_a_sentence(run: Run) -> None:
    refused = {**PREVIEW, "refused": "no entity is called Sing"}
    called, result = run("--dismiss", "--entity", "Sing", "--yes", answers=(refused,))
    assert (result.exit_code, len(called.asked)) == (2, 1)
    assert "redrive could not run: no entity is called Sing" in result.output


def test_a_redrive_waits_for_a_dismissal_by_other_code(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    waiting = {**NOTHING, "finished": False, "cursor": "claims##", "wait": 90.0}
    called, result = run(answers=(waiting, waiting, NOTHING, NOTHING))
    assert (result.exit_code, pauses) == (0, [60.0, 60.0])
    assert len(called.asked) == 4
