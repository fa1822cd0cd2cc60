"""The command `daicho plan` on a table: what changes, what it costs, and what is refused."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from daicho.storage.table import Table
from tests.support.planned_project import (
    ChangingProject,
    make_runner,
    record_release,
    render_module,
    write_users,
)

Run = Callable[..., Result]
FIRST = render_module("search = Search(name)", "newest = Listing()", "total = Aggregate(Count())")
SECOND = render_module(
    "search = Search(name, email)",
    "newest = Listing()",
    "by_country = Aggregate(Count(), country)",
    routes='domain.mount("/countries/{country}", User.by_country)\n',
)
ADA = {"name": "Ada", "email": "ada@example.com", "country": "uk"}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ChangingProject:
    monkeypatch.setattr(sys, "path", [*sys.path])
    return ChangingProject(tmp_path)


@pytest.fixture
def run(dynamo: str, table_name: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    return make_runner("plan", dynamo, table_name, monkeypatch)


@pytest.fixture
def deployed(project: ChangingProject, table: Table) -> Path:
    """The first version, deployed, with 30 users; its folder."""
    root = project.write(FIRST)
    record_release(table, project.ledger)
    write_users(table, project.ledger, [ADA] * 30)
    return root


def test_before_the_first_deployment_everything_is_new(
    project: ChangingProject, run: Run, table_name: str
) -> None:
    root = project.write(FIRST)
    result = run(root, "--table", f"{table_name}-other")
    assert result.exit_code == 2
    assert result.stdout.splitlines()[:2] == [
        "There is no table yet: this is the first deployment.",
        "User  new, generation 1",
    ]
    assert "rebuild" not in result.stdout
    result = run(root)  # the table is empty
    assert result.exit_code == 2
    assert "User  new, generation 1" in result.stdout


def test_an_equal_checkout_changes_nothing(run: Run, deployed: Path) -> None:
    result = run(deployed)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "No entities change. Nothing is refused."
    result = run(deployed, "--scan")  # it reads nothing, so it does not ask
    assert result.exit_code == 0
    assert "not scanned" in result.stderr


@pytest.mark.usefixtures("deployed")
def test_a_program_reads_the_same(project: ChangingProject, run: Run) -> None:
    result = run(project.write(SECOND), "--json")
    assert result.exit_code == 2
    document = json.loads(result.stdout)
    assert (document["exit_code"], document["refusals"], document["recorded"]) == (2, [], True)
    (user,) = document["entities"]
    assert (user["entity"], user["before"], user["after"]) == ("User", 1, 2)
    assert {
        change["declaration"]: (change["effect"], change["being_built"], change["routes"])
        for change in user["changes"]
    } == {
        "by_country": ("added", True, ["GET /countries/{country}"]),
        "search": ("replaced", False, ["GET /users?q="]),
        "total": ("removed", False, []),
    }
    rebuild = user["rebuild"]
    assert (rebuild["declarations"], rebuild["items"]) == (["by_country", "search"], 30)
    assert (rebuild["basis"], rebuild["sampled"], rebuild["checked"]) == ("counted", 30, 30)
    assert rebuild["touch_units"] == 30
    # "ada" has the list of everything and 3 grams, "example.com" and "ada@…" some more.
    assert rebuild["row_units"] > 30 * 2 * 4
    assert 0 < rebuild["dollars"] < 0.01
    assert document["sample"]["whole"] is True


@pytest.mark.usefixtures("deployed")
def test_a_scan_is_confirmed_and_reads_all(project: ChangingProject, run: Run) -> None:
    root = project.write(SECOND)
    result = run(root, "--scan", input="n\n")
    assert result.exit_code == 1
    assert "A scan of the whole table: " in result.stderr
    assert "User" not in result.stdout
    for options, given in (["--scan"], "y\n"), (["--scan", "--yes", "--rate", "50"], ""):
        result = run(root, *options, "--json", input=given)
        assert result.exit_code == 2
        document = json.loads(result.stdout[result.stdout.index("{") :])  # the input is echoed
        assert document["entities"][0]["rebuild"]["items"] == 30
        # The users, the backfill item of the entity, and that of the table.
        assert document["sample"]["items"] == 32


@pytest.mark.usefixtures("deployed")
def test_declarations_without_a_generation_are_refused(project: ChangingProject, run: Run) -> None:
    root = project.write(SECOND, generation=False)
    result = run(root)
    assert result.exit_code == 1
    assert result.stdout.startswith("refused: User.")
    assert "daicho generation" in result.stdout
    document = json.loads(run(root, "--json").stdout)
    assert (document["exit_code"], len(document["refusals"])) == (1, 1)


def test_a_stage_that_is_ahead_is_refused(
    project: ChangingProject, run: Run, table: Table, deployed: Path
) -> None:
    project.write(SECOND)
    record_release(table, project.ledger)
    result = run(deployed)
    assert result.exit_code == 1
    assert "refused: this checkout knows User generation 1" in result.stdout
    assert "rebuild of" not in result.stdout
