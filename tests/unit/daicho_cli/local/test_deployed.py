"""A deployment is skipped only if a complete one was made from the same project."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from daicho.project import Project
from daicho_cli.init.command import create_project
from daicho_cli.local import lifecycle
from daicho_cli.local.deployed import compute_digest
from daicho_cli.local.instance import LocalError, LocalInstance

Change = Callable[[Path], object]
CHANGES: dict[str, Change] = {
    "a domain file": lambda root: (root / "domains/products.py").write_text("#", "utf-8"),
    "another domain file": lambda root: (root / "domains/others.py").touch(),
    "the lock file": lambda root: (root / "generations.json").write_text("{}", "utf-8"),
    "the app": lambda root: (root / "app.py").write_text("#", "utf-8"),
    "the context of CDK": lambda root: (root / "cdk.context.json").write_text("{}", "utf-8"),
}


@pytest.fixture(scope="module")
def created(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new project, of which each test has a copy."""
    folder = tmp_path_factory.mktemp("created") / "shop"
    create_project("shop", folder)
    return folder


@pytest.fixture
def place(created: Path, tmp_path: Path) -> LocalInstance:
    shutil.copytree(created, tmp_path / "shop")
    (tmp_path / "shop/generations.json").touch()
    return LocalInstance(tmp_path / "data", 4600, Project.find(tmp_path / "shop"))


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_each_change_gives_another_digest(place: LocalInstance, change: Change) -> None:
    before = compute_digest(place, {})
    change(place.project.root)
    assert compute_digest(place, {}) != before


def test_what_no_deployment_reads_gives_the_same_digest(place: LocalInstance) -> None:
    before, root = compute_digest(place, {"faults": 0.1}), place.project.root
    for folder in (".local", "node_modules", "domains/__pycache__", "cdk.out"):
        (root / folder).mkdir(exist_ok=True)
        (root / folder / "file").touch()
    assert compute_digest(place, {"faults": 0.1}) == before
    assert compute_digest(place, {}) != before


def test_a_deployment_that_was_not_completed_is_repeated(
    place: LocalInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored: list[str] = []
    calls: list[str] = []

    def cdk(_: LocalInstance, command: str, *_arguments: str) -> None:
        calls.append(command)
        if len(calls) == 2:
            raise LocalError("cdk deploy failed")

    stack = {"StackStatus": "CREATE_COMPLETE", "Outputs": [{"OutputKey": "A", "OutputValue": "1"}]}
    monkeypatch.setattr(lifecycle, "_cdk", cdk)
    monkeypatch.setattr(lifecycle, "_describe_stack", lambda *_: [stack])
    monkeypatch.setattr(lifecycle, "read_digest", lambda _: stored[-1] if stored else "")
    monkeypatch.setattr(lifecycle, "write_digest", lambda _, digest: stored.append(digest))

    assert lifecycle.deploy(place) == lifecycle.deploy(place) == {"A": "1"}
    assert len(calls) == 1
    CHANGES["a domain file"](place.project.root)
    with pytest.raises(LocalError):
        lifecycle.deploy(place)
    lifecycle.deploy(place)
    lifecycle.deploy(place)
    assert len(calls) == 3
    lifecycle.deploy(place, faults=0.1)
    assert len(calls) == 4
