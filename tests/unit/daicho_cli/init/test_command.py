"""A new project: its files, its names, and what is refused."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from daicho.project import Project
from daicho.runtime.version import VERSION
from daicho_cli.init.command import InitError, check_name, create_project, make_title
from daicho_cli.main import app
from tests.support.repository import ROOT

MAX_FILES = 12


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project, made once."""
    folder = tmp_path_factory.mktemp("projects") / "my-shop"
    create_project("my-shop", folder)
    return folder


def test_it_has_few_files_and_nothing_beside_them(shop: Path) -> None:
    files = {str(path.relative_to(shop)) for path in shop.rglob("*") if path.is_file()}
    assert len(files) <= MAX_FILES
    assert files >= {
        *("app.py", "cdk.json", "pyproject.toml", "generations.json", "Makefile", "README.md"),
        *("domains/products.py", "tests/test_products.py", ".gitignore"),
        ".github/workflows/ci.yml",
    }
    assert [path.name for path in shop.parent.iterdir()] == ["my-shop"]


def test_no_placeholder_is_left(shop: Path) -> None:
    texts = [path.read_text("utf-8") for path in shop.rglob("*") if path.is_file()]
    assert [text for text in texts if re.search(r"\{\{[a-z]+\}\}", text)] == []
    assert "# MyShop" in (shop / "README.md").read_text("utf-8")


def test_it_pins_this_version(shop: Path) -> None:
    content = tomllib.loads((shop / "pyproject.toml").read_text("utf-8"))
    (requirement,) = content["project"]["dependencies"]
    assert requirement == f"daicho[cdk,cli,local,testing]=={VERSION}"
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert set(extras["optional-dependencies"]) >= {"cdk", "cli", "local", "testing"}


def test_its_lock_file_is_its_own_and_complete(shop: Path) -> None:
    project = Project.find(shop)
    assert project.name == "MyShop"
    lock = json.loads(project.lock_file.read_text("utf-8"))
    assert lock["project"] == "MyShop"
    assert [len(generations) for generations in lock["entities"].values()] == [1]


def test_it_pins_the_actions_of_this_repository(shop: Path) -> None:
    pattern = re.compile(r"uses: (\S+@[0-9a-f]{40})")
    own = pattern.findall((shop / ".github/workflows/ci.yml").read_text("utf-8"))
    workflows = (ROOT / ".github/workflows").glob("*.yml")
    pinned = {use for path in workflows for use in pattern.findall(path.read_text("utf-8"))}
    assert own
    assert set(own) <= pinned


@pytest.mark.parametrize(
    "name",
    ["", "Shop", "my shop", "my--shop", "-shop", "shop-", "1shop", "my_shop", "店", "a" * 33],
)
def test_a_name_of_no_package_or_stack_is_refused(name: str) -> None:
    with pytest.raises(InitError, match="take a-z, 0-9 and single -"):
        check_name(name)


@pytest.mark.parametrize("name", ["daicho", "domains", "tests"])
def test_a_taken_name_is_refused(name: str) -> None:
    with pytest.raises(InitError, match=f"cannot be called {name}"):
        check_name(name)


def test_names_of_stacks_are_capitalised() -> None:
    assert [make_title(name) for name in ("shop", "my-shop", "a1-b2")] == ["Shop", "MyShop", "A1B2"]


def test_its_code_passes_mypy_strict(shop: Path) -> None:
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "domains", "tests"]
    environment = {**os.environ, "MYPYPATH": f"{ROOT}/functions:{ROOT}"}
    options = ("--explicit-package-bases", "--follow-imports=silent")
    done = subprocess.run(
        [*command, *options], cwd=shop, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


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


def test_the_working_folder_is_taken_if_it_is_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "empty"
    place.mkdir()
    (tmp_path / "link").symlink_to(place)
    monkeypatch.chdir(tmp_path / "link")
    assert "app.py" in create_project("shop", Path())
    assert Project.find(place).name == "Shop"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_failure_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daicho_cli.init.command.sys.executable", "/bin/false")
    with pytest.raises(InitError, match="could not be locked"):
        create_project("shop", tmp_path / "shop")
    assert list(tmp_path.iterdir()) == []
