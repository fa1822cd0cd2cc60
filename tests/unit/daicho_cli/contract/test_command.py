"""``daicho contract`` in a project: what it compares, exit codes, text and JSON."""

from __future__ import annotations

import copy
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from daicho.plan import Ledger
from daicho.web.openapi import document
from daicho_cli.contract.command import (
    DESCRIPTION,
    ContractError,
    compare_with_committed,
    read_description,
)
from daicho_cli.main import app
from tests.support.sample_project import DAICHO, LEDGER, SAMPLE_ROUTES, write_project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(write_project(tmp_path))
    # It takes most of the time. One test below describes the API as it is.
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
    write(project, committed)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["contract", *arguments])


def test_an_equal_description_is_no_change_and_nothing_is_written(project: Path) -> None:
    commit(project)
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    result = run()
    assert (result.exit_code, result.stdout) == (0, f"The API is that of {DESCRIPTION}.\n")
    assert {path: path.read_bytes() for path in project.rglob("*") if path.is_file()} == before


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


def write(root: Path, described: Any, path: Path = DESCRIPTION) -> Path:
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(described if isinstance(described, str) else json.dumps(described), "utf-8")
    return place


def name_document(title: str) -> dict[str, Any]:
    return {"openapi": "3.1.0", "info": {"title": title}, "paths": {}}


def run_git(folder: Path, *command: str) -> None:
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.com")
    subprocess.run(["git", *identity, *command], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A project in a folder of a git repository, with the descriptions 1 to 3.

    1 is tagged, 2 is the last commit, 3 is in the folder.
    """
    root = tmp_path / "services/shop"
    write(root, name_document("1"))
    run_git(tmp_path, "init", "-q")
    for title in ("1", "2"):
        write(root, name_document(title))
        run_git(tmp_path, "add", "-A")
        run_git(tmp_path, "commit", "-qm", title)
        run_git(tmp_path, "tag", f"v{title}")
    write(root, name_document("3"))
    return root


def read_title(root: Path, against: str | None = None) -> tuple[str, str]:
    name, described = read_description(root, against)
    return name, described["info"]["title"]


def test_the_last_commit_is_the_default(repository: Path) -> None:
    assert read_title(repository) == (f"{DESCRIPTION} of HEAD", "2")
    assert read_title(repository, "v1") == (f"{DESCRIPTION} of v1", "1")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"paths": 7}', "\x00"])
def test_what_is_no_document_is_refused(tmp_path: Path, text: str) -> None:
    write(tmp_path, text)
    with pytest.raises(ContractError, match=r"is no OpenAPI document"):
        read_description(tmp_path)


def test_the_declarations_are_compared_with_the_description(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = copy.deepcopy(SAMPLE_ROUTES.description)
    write(tmp_path, before)
    # Generations that are not locked yet are no error.
    assert compare_with_committed(DAICHO, Ledger(), tmp_path).changes == ()
    monkeypatch.setattr(document, "describe_api", lambda *_: SAMPLE_ROUTES.description)
    (name,) = [
        parameter
        for parameter in before["paths"]["/artists"]["get"]["parameters"]
        if parameter["name"] == "name"
    ]
    name["name"] = "q"
    check = compare_with_committed(DAICHO, LEDGER, tmp_path, str(write(tmp_path, before)))
    assert check.is_breaking
    (change,) = check.changes
    assert change.way == 'Search(..., param="q")'

    del before["components"]["schemas"]["ArtistPage"]
    write(tmp_path, before)
    with pytest.raises(ContractError, match="refers to 'ArtistPage', which it does not contain"):
        compare_with_committed(DAICHO, LEDGER, tmp_path)
