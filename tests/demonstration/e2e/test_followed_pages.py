"""Pages whose commands need a local stack with the demonstration: each command succeeds."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bench.restore.local_trial import running, verify
from tests.support.how_to_page import HowToPage
from tests.support.repository import ROOT
from tests.support.trials import IS_TRIAL

IN_ORDER = (
    "read-a-part-of-a-list",
    "load-and-export",
    "query-the-archive",
    "restore-from-archive",
    "restore-the-table",
    "delete-a-tenant",  # the last one: its tenant is acme
)
SONGS = "".join(
    json.dumps({"id": f"followed-{number}", "title": "Heroes", "artist": "1", "released": 1977})
    + "\n"
    for number in range(2)
)
FAIL = 'curl() { command curl --silent --fail-with-body "$@"; }'

pytestmark = pytest.mark.skipif(not IS_TRIAL, reason="a trial: make trials")


@pytest.fixture
def clone(stack: dict[str, Any], tmp_path: Path) -> Path:
    """A folder with the repository's files, and the file of the stack in its place."""
    for path in ROOT.iterdir():
        if path.name not in (".local", ".git"):
            (tmp_path / path.name).symlink_to(path)
    (tmp_path / ".local").mkdir()
    (tmp_path / ".local/stack.json").write_text(json.dumps(stack), "utf-8")
    (tmp_path / "songs.ndjson").write_text(SONGS, "utf-8")
    return tmp_path


def test_the_commands_of_pages_succeed(stack: dict[str, Any], clone: Path) -> None:
    variables = {"URL": stack["url"], "TOKEN": stack["tokens"]["acme"]}
    variables["ADMIN"] = stack["admins"]["acme"]
    for name in IN_ORDER:
        commands = [each for each in HowToPage.read(name).commands if each.need == "stack"]
        assert commands, name
        for command in commands:
            done = subprocess.run(
                ["bash", "-euc", f"{FAIL}\n{command.line}"],
                cwd=clone,
                env={**os.environ, **variables},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            assert done.returncode == 0, f"{command.line}\n{done.stdout}"


def test_a_lost_table_is_replaced_by_the_commands_of_its_page(tmp_path: Path) -> None:
    page = "replace-a-lost-table"
    with running(tmp_path) as stack:
        with stack.loading("acme"):
            stack.follow(page, 0, 1)  # a copy, while a tenant writes
        stack.lose_table()
        stack.follow(page, 1, None)
        assert stack.written > 0
        assert stack.table == "daicho-restored"
        assert all(figure.is_met for figure in verify(stack, "after the lost table is replaced"))
