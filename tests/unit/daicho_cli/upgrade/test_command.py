"""What an upgrade changes in a project, and which projects it refuses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from packaging.version import Version
from typer.testing import CliRunner

from daicho.project import Project
from daicho.runtime.version import VERSION
from daicho_cli.main import app
from daicho_cli.upgrade import command, uv
from daicho_cli.upgrade.command import find_target, make_upgrade
from daicho_cli.upgrade.errors import UpgradeError
from daicho_cli.upgrade.trial import Comparison, try_version

CONFIGURATION = f"""[project]
dependencies = ["daicho[cli]=={VERSION}"]  # pinned

[tool.daicho]
name = "Shop"
"""
COMPARISON = Comparison(Version(VERSION), Version("9.9.9"), [], {}, b'{"entities": {}}\n')


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "pyproject.toml").write_text(CONFIGURATION)
    (tmp_path / "generations.json").write_bytes(COMPARISON.lock_file)
    return Project.find(tmp_path)


def test_without_a_lock_file_of_uv_the_team_installs(project: Project) -> None:
    assert make_upgrade(project, COMPARISON) == (
        "pyproject.toml pins daicho 9.9.9\nnext: an installation of what pyproject.toml requires, "
        "then the tests, then a deployment"
    )
    text = (project.root / "pyproject.toml").read_text()
    assert text == CONFIGURATION.replace(VERSION, "9.9.9")


def test_a_lock_file_of_uv_is_installed_and_generations_are_written(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed: list[Path] = []
    monkeypatch.setattr(uv, "synchronise", installed.append)
    for name in ("uv.lock", "Makefile"):
        (project.root / name).write_text("")
    comparison = replace(COMPARISON, lock_file=b'{"entities": {"Order": []}}\n')
    assert make_upgrade(project, comparison) == (
        "pyproject.toml pins daicho 9.9.9; generations.json has the new generations; uv sync has "
        "installed it\nnext: make test, then make up, then make deploy"
    )
    assert installed == [project.root]
    assert project.lock_file.read_bytes() == comparison.lock_file


def test_the_newest_version_is_no_error(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uv, "find_newest", lambda specifier, folder: Version(VERSION))
    monkeypatch.chdir(project.root)
    answer = CliRunner().invoke(app, ["upgrade", "--check"])
    assert (answer.exit_code, answer.output) == (
        0,
        f"Shop has the newest version of daicho, {VERSION}\n",
    )


def test_the_installed_version_must_be_the_pinned_one(project: Project) -> None:
    (project.root / "pyproject.toml").write_text(CONFIGURATION.replace(VERSION, "0.0.1"))
    with pytest.raises(UpgradeError, match=r"pins daicho 0\.0\.1, and .* is installed: install"):
        find_target(project.root, None)


def test_a_lock_file_outside_of_the_project(project: Project, tmp_path: Path) -> None:
    outside = replace(project, lock_file=tmp_path.parent / "generations.json")
    with pytest.raises(UpgradeError, match=r"generations\.json is outside of .*: move it there"):
        try_version(
            outside,
            Version("9.9.9"),
            stages=["dev"],
            context=[],
            programs=tmp_path,
            report=lambda _: None,
        )


def test_an_expected_error_ends_with_one_sentence(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> Version:
        raise UpgradeError("no index")

    monkeypatch.setattr(command, "find_target", fail)
    monkeypatch.chdir(project.root)
    answer = CliRunner().invoke(app, ["upgrade"])
    assert (answer.exit_code, answer.output) == (1, "no index\n")
