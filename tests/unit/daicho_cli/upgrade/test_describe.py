"""The description of a project, and the generations that a version would write."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from daicho.errors import DeclarationError
from daicho.project import Project
from daicho.runtime.version import VERSION
from daicho_cli.upgrade.describe import describe_project, main
from tests.support.sample_project import LEDGER, write_project


def synthesise(root: Path, context: Mapping[str, str]) -> dict[str, Any]:
    """One empty stack, named by the context."""
    return {"-".join(context.values()): {"root": str(root)}}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """The project of the sample domains, with a lock file of its own."""
    return Project.find(write_project(tmp_path))


def remove_entity(project: Project, name: str) -> None:
    ledger = json.loads(project.lock_file.read_text("utf-8"))
    del ledger["entities"][name]
    project.lock_file.write_text(json.dumps(ledger))


def describe(project: Project, *, locked: bool = False) -> dict[str, Any]:
    context = {"zone": "a"}
    stages = ["dev", "prod"]
    return describe_project(project, stages, context, locked=locked, synthesise=synthesise)


def test_everything_that_is_compared(project: Project) -> None:
    description = describe(project, locked=True)
    assert json.loads(json.dumps(description)) == description
    assert description["version"] == VERSION
    assert description["project"] == "Sample"
    assert description["ledger"] == json.loads(project.lock_file.read_text("utf-8"))
    assert description["api"]["openapi"].startswith("3.1")
    assert description["templates"] == {
        stage: {f"a-{stage}": {"root": str(project.root)}} for stage in ("dev", "prod")
    }


def test_missing_generations_are_appended_to_the_lock_file(project: Project) -> None:
    (name, *_) = LEDGER.entities
    remove_entity(project, name)
    description = describe(project)
    assert name in description["ledger"]["entities"]
    assert json.loads(project.lock_file.read_text("utf-8")) == description["ledger"]


def test_complete_generations_stay_as_they_are(project: Project) -> None:
    before = project.lock_file.read_bytes()
    describe(project)
    assert project.lock_file.read_bytes() == before


def test_locked_generations_must_be_complete(project: Project) -> None:
    (name, *_) = LEDGER.entities
    remove_entity(project, name)
    before = project.lock_file.read_bytes()
    with pytest.raises(DeclarationError, match=f"{name}.* changed without a new generation"):
        describe(project, locked=True)
    assert project.lock_file.read_bytes() == before


def test_an_expected_error_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([str(tmp_path / "out.json"), "--stage=dev"]) == 1
    assert capsys.readouterr().err.startswith("no Daicho project is in ")
    assert not (tmp_path / "out.json").exists()
