"""The library's own suites are green in a copy of the repository without the demonstration."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from daicho.project import Project
from daicho_cli.local.instance import LocalInstance
from tests.support.dynoxide import free_port
from tests.support.repository import PROGRAMS, ROOT
from tests.support.trials import IS_TRIAL

SUITES = ("unit", "property", "infra", "package", "delivery", "integration")
OPTIONS = ("-q", "-n", "2", "--dist", "loadfile", "--no-loadscope-reorder")
FROM_OUTSIDE = ("PYTEST", "PYTHON", "TRIALS", "MAKE")
"""Variables by their beginning that are this run's own."""

pytestmark = pytest.mark.skipif(not IS_TRIAL, reason="a trial: make trials")


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, by the code of that folder; its output."""
    variables = {k: v for k, v in os.environ.items() if not k.startswith(FROM_OUTSIDE)}
    path = os.pathsep.join([str(folder / "functions"), str(folder)])
    return subprocess.run(
        command,
        cwd=folder,
        env={**variables, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def run_well(folder: Path, *command: str) -> str:
    """Run a command that must succeed."""
    done = run(folder, *command)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository as Git would check it out, and without the demonstration.

    It has its own Git repository, as some tests list the files. The programs that `make` installs
    are those of this one.
    """
    folder = tmp_path_factory.mktemp("copy")
    tracked = run_well(ROOT, "git", "ls-files", "-z").split("\0")
    for name in filter(None, tracked):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
    git = ("git", "-c", "user.name=Trial", "-c", "user.email=trial@example.com")
    run_well(folder, *git, "init", "--quiet")
    run_well(folder, *git, "add", "--all")
    run_well(folder, *git, "commit", "--quiet", "--message", "All")
    run_well(folder, sys.executable, "-m", "demonstration.remove", ".")
    run_well(folder, *git, "add", "--all")
    for programs in (PROGRAMS, ROOT / "build", ROOT / "node_modules"):
        if programs.exists():
            (folder / programs.relative_to(ROOT)).symlink_to(programs)
    return folder


def test_nothing_of_the_demonstration_is_left(copy: Path) -> None:
    listed = run_well(copy, "git", "ls-files").splitlines()
    assert [name for name in listed if "demonstration/" in name] == []
    assert [name for name in listed if name.startswith("functions/domains/")] == [
        "functions/domains/__init__.py"
    ]


def test_the_types_are_right(copy: Path) -> None:
    folders = ("app.py", "functions", "infra", "daicho_cli", "tests", "examples")
    run_well(copy, sys.executable, "-m", "mypy", *folders)


@pytest.mark.parametrize("suite", SUITES)
def test_a_suite_of_the_library_is_green(copy: Path, suite: str) -> None:
    printed = run_well(copy, sys.executable, "-m", "pytest", f"tests/{suite}", *OPTIONS)
    assert " passed" in printed


def test_the_local_stack_comes_up_and_serves(copy: Path) -> None:
    """Also without any domain: what is served then is the description of the API."""
    instance = LocalInstance(copy / "local-stack", free_port(), Project.find(copy))
    place = ("env", f"DAICHO_LOCAL={instance.folder}", f"PORT={instance.port}")
    daicho = (sys.executable, "-m", "daicho_cli", "local")
    (copy / ".venv").symlink_to(Path(sys.prefix))  # cdk.json names it
    try:
        printed = run_well(copy, *place, *daicho, "up")
        assert f"URL={instance.url}" in printed
        with urllib.request.urlopen(f"{instance.url}/openapi.json") as answer:  # noqa: S310
            assert "/tenant" in json.load(answer)["paths"]
    finally:
        run_well(copy, *place, *daicho, "reset")
