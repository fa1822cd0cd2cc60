"""The command `daicho status` on a table: which instances answer, and what the checkout differs."""

from __future__ import annotations

import datetime as dt
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from daicho.layout.backfill_state import BackfillState
from daicho.storage.protocols import apply_update
from daicho.storage.table import Table
from daicho.stream.recount_list import build_recount_mark
from tests.support.planned_project import (
    ChangingProject,
    make_runner,
    record_release,
    render_module,
    write_users,
)

Run = Callable[..., Result]
FIRST = render_module("search = Search(name)", "newest = Listing()")
SECOND = render_module("search = Search(name, email)", "by_country = Listing(country)")
NOW = dt.datetime(2026, 11, 23, tzinfo=dt.UTC)
ADA = {"name": "Ada", "email": "ada@example.com", "country": "uk"}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ChangingProject:
    monkeypatch.setattr(sys, "path", [*sys.path])
    return ChangingProject(tmp_path)


@pytest.fixture
def run(dynamo: str, table_name: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    return make_runner("status", dynamo, table_name, monkeypatch)


def read_states(result: Result) -> dict[str, str]:
    """The states by instance, from the JSON document."""
    assert result.exit_code == 0, result.output
    return {
        f"{entity['entity']}.{instance['declaration']}@{instance['since']}": instance["state"]
        for entity in json.loads(result.stdout)["entities"]
        for instance in entity["instances"]
    }


def test_instances_serve_build_and_retire(project: ChangingProject, run: Run, table: Table) -> None:
    first = project.write(FIRST)
    record_release(table, project.ledger)
    write_users(table, project.ledger, [ADA])
    assert read_states(run(first, "--json")) == {
        "User.newest@1": "serving",
        "User.search@1": "serving",
    }
    second = project.write(SECOND)
    record_release(table, project.ledger)
    assert read_states(run(second, "--json")) == {
        "User.by_country@2": "building",
        "User.newest@1": "retiring",
        "User.search@2": "building",
        "User.search@1": "retiring, still answers",
    }
    table.put(BackfillState("User", 2, 2, in_filter=True).to_item())
    assert read_states(run(second, "--json")) == {
        "User.by_country@2": "serving",
        "User.newest@1": "retiring",
        "User.search@2": "serving",
        "User.search@1": "retiring",
    }


def test_tallies_that_wait_for_a_recount_are_counted(
    project: ChangingProject, run: Run, table: Table
) -> None:
    first = project.write(FIRST)
    record_release(table, project.ledger)
    for tally in ("t#+User.all#2#uk", "t#+User.all#2#jp"):
        apply_update(table, build_recount_mark(tally, "1", None, NOW))
    assert "User.all@2: 2 tallies wait for a recount" in run(first).stdout
    assert json.loads(run(first, "--json").stdout)["recounts"] == {"User.all@2": 2}
