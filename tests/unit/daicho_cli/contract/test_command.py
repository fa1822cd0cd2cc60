"""`daicho contract` in a project: exit codes, text and JSON."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from daicho.web.openapi import document
from daicho_cli.contract.command import DESCRIPTION
from daicho_cli.main import app
from tests.support.sample_project import SAMPLE_ROUTES, write_project


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(write_project(tmp_path))
    # It takes most of the time, and test_command_committed.py has it as it is.
    monkeypatch.setattr(document, "describe_api", lambda *_: SAMPLE_ROUTES.description)
    return tmp_path


def commit(project: Path, *, without: str = "", added: str = "") -> None:
    """Write a description without a path of the declarations, or with one that they lack."""
    committed = copy.deepcopy(SAMPLE_ROUTES.description)
    paths = committed["paths"]
    if added:
        paths[added] = {"get": copy.deepcopy(paths["/artists"]["get"])}
    if without:
        del paths[without]
    (project / DESCRIPTION).parent.mkdir(parents=True, exist_ok=True)
    (project / DESCRIPTION).write_text(json.dumps(committed), "utf-8")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["contract", *arguments])


def test_an_equal_description_is_no_change(project: Path) -> None:
    commit(project)
    result = run()
    assert (result.exit_code, result.stdout) == (0, f"The API is that of {DESCRIPTION}.\n")


def test_an_addition_is_listed_and_does_not_break(project: Path) -> None:
    commit(project, without="/artists")
    result = run()
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "compatible  GET /artists is added",
        "compatible  POST /artists is added",
        "No client breaks.",
    ]


def test_a_breaking_change_ends_with_2(project: Path) -> None:
    commit(project, added="/musicians")
    result = run()
    assert result.exit_code == 2
    assert result.stdout.splitlines() == [
        "breaking    GET /musicians is removed",
        '            to keep it: domain.mount("/musicians", ...), or '
        'domain.route("GET", "/musicians")',
        f"1 change breaks clients of {DESCRIPTION}.",
    ]
    result = run("--json")
    assert result.exit_code == 2
    check = json.loads(result.stdout)
    assert (check["against"], check["breaking"]) == (str(DESCRIPTION), True)
    assert [change["rule"] for change in check["changes"]] == ["removed-operation"]


def test_a_missing_description_ends_with_1(project: Path) -> None:
    result = run()
    assert result.exit_code == 1
    assert f"daicho contract could not run: {DESCRIPTION} does not exist" in result.stderr
    result = run("--against", "nothing")
    assert result.exit_code == 1
    assert "nothing is no file, and no git revision" in result.stderr
    assert result.stdout == ""


def test_it_writes_nothing(project: Path) -> None:
    commit(project)
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    run()
    assert {path: path.read_bytes() for path in project.rglob("*") if path.is_file()} == before
