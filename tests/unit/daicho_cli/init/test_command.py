"""A new project: its files, its names, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from daicho.project import Project
from daicho_cli.init.command import InitError, check_name, create_project
from daicho_cli.main import app


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project, made once."""
    folder = tmp_path_factory.mktemp("projects") / "my-shop"
    create_project("my-shop", folder)
    return folder


def test_no_placeholder_is_left(shop: Path) -> None:
    texts = [path.read_text("utf-8") for path in shop.rglob("*") if path.is_file()]
    assert [text for text in texts if re.search(r"\{\{[a-z]+\}\}", text)] == []
    assert "# MyShop" in (shop / "README.md").read_text("utf-8")


def test_its_lock_file_is_its_own_and_complete(shop: Path) -> None:
    project = Project.find(shop)
    assert project.name == "MyShop"
    lock = json.loads(project.lock_file.read_text("utf-8"))
    assert lock["project"] == "MyShop"
    assert [len(generations) for generations in lock["entities"].values()] == [1]


@pytest.mark.parametrize(
    "name",
    ["", "Shop", "my shop", "my--shop", "-shop", "shop-", "1shop", "my_shop", "店", "a" * 33],
)
def test_a_name_of_no_package_or_stack_is_refused(name: str) -> None:
    with pytest.raises(InitError, match="take a-z, 0-9 and single -"):
        check_name(name)


@pytest.mark.parametrize("there", ["file", "folder with a file"])
def test_a_folder_that_is_not_empty_is_refused_and_left_alone(tmp_path: Path, there: str) -> None:
    place = tmp_path / "shop"
    if there == "file":
        place.write_text("mine")
    else:
        place.mkdir()
        (place / "notes.txt").write_text("mine")
    answer = CliRunner().invoke(app, ["init", "shop", "--folder", str(place)])
    assert answer.exit_code == 1
    assert answer.output == (
        f"daicho init: {place.resolve()} is not empty: name another folder by --folder\n"
    )
    left = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path.read_text() for path in left] == ["mine"]


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    place = tmp_path / "empty"
    place.mkdir()
    answer = CliRunner().invoke(app, ["init", "shop", "--folder", str(place)])
    assert answer.exit_code == 0, answer.output
    assert f"cd {place}\n  make up\n  make test" in answer.output
    assert (place / "app.py").exists()


def test_a_failure_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daicho_cli.init.command.sys.executable", "/bin/false")
    with pytest.raises(InitError, match="could not be locked"):
        create_project("shop", tmp_path / "shop")
    assert list(tmp_path.iterdir()) == []
