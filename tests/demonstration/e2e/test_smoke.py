"""`daicho smoke` against the deployed local stack: it passes, and removes what it made."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import pytest
from typer.testing import CliRunner

from daicho_cli.aws import Stack
from daicho_cli.local.environment import REGION
from daicho_cli.main import app
from daicho_cli.smoke.calls import Outcome
from daicho_cli.smoke.target import find_target
from tests.e2e.api import PATIENCE

KINDS = {
    "POST /articles": "create, and repeat under one key",
    "Photo.image: upload, download": "object",
    "POST /polls/{poll}/votes": "fast vote",
    "GET /songs/{song}/playlists, GET /playlists/{playlist}/songs": "read from both ends",
    "GET /articles/count": "total includes it",
    "DELETE /tenant": "the tenant is being removed",
}


@pytest.fixture(scope="module")
def stack_file(stack: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("stack") / "stack.json"
    file.write_text(json.dumps(stack), "utf-8")
    return file


@pytest.fixture(scope="module")
def target(stack_file: Path) -> Stack:
    return find_target(None, stack_file)


@contextmanager
def rolled_up(stack: dict[str, Any]) -> Iterator[None]:
    """Run the rollup again and again meanwhile: its schedule runs each minute."""
    ended = threading.Event()
    session = boto3.Session("test", "test", region_name=REGION)
    functions = session.client("lambda", endpoint_url=stack["endpoint"])

    def run() -> None:
        while not ended.wait(0.5):
            functions.invoke(FunctionName=stack["functions"]["rollup"], Payload=b"{}")

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def test_the_local_stack_passes(stack: dict[str, Any], stack_file: Path, target: Stack) -> None:
    options = ["--stack", str(stack_file), "--json", "--patience", str(PATIENCE)]
    with rolled_up(stack):
        result = CliRunner().invoke(app, ["smoke", *options])
    report = json.loads(result.stdout)
    assert [each for each in report["results"] if each["outcome"] == Outcome.FAILED] == []
    assert result.exit_code == 0, result.output
    driven = [each for each in report["results"] if each["seconds"] is not None]
    assert KINDS.items() <= {(each["subject"], each["check"]) for each in driven}
    # The demonstration has something of each kind.
    assert {each["outcome"] for each in driven} == {Outcome.PASSED}
    assert Outcome.NOT_DECLARED not in {each["outcome"] for each in report["results"]}
    assert len(driven) >= 21
    cognito = target.open_client("cognito-idp")
    with pytest.raises(cognito.exceptions.UserNotFoundException):
        cognito.admin_get_user(UserPoolId=stack["user_pool"], Username=report["run"])
    assert any(report["run"] in line for line in report["left_behind"])
