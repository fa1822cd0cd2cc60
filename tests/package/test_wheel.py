"""The wheel: built, checked, and installed into an empty environment."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent


def run(*command: str | Path, status: int = 0) -> str:
    """Run a command outside the project's folder; its output, of both kinds."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd="/",
        env={**os.environ, "PYTHONPATH": "", "NO_COLOR": "1", "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    offline = ("--no-build-isolation", "--offline")
    run(BIN / "uv", "build", "--quiet", *offline, "--python", sys.executable, "-o", folder, ROOT)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    """The wheel."""
    (path,) = built.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the wheel and what it requires, without the extra."""
    folder = tmp_path_factory.mktemp("environment")
    run(BIN / "uv", "venv", "--quiet", "--python", sys.executable, folder / "venv")
    interpreter = folder / "venv/bin/python"
    install(
        interpreter,
        "--require-hashes",
        "-r",
        ROOT / "functions/daicho/cdk/functions/requirements-layer.txt",
    )
    install(interpreter, "--no-deps", wheel)
    return interpreter


def install(interpreter: Path, *arguments: str | Path) -> None:
    """Install packages from the files that `make` has put into uv's cache."""
    run(BIN / "uv", "pip", "install", "--quiet", "--python", interpreter, *arguments)


def list_required(requirements: list[str]) -> set[str]:
    """The names of packages and of what they require, as they are installed here."""
    names: set[str] = set()
    pending = [Requirement(each) for each in requirements]
    while pending:
        requirement = pending.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
            continue
        name = canonicalize_name(requirement.name)
        if name not in names:
            names.add(name)
            pending += [Requirement(each) for each in metadata.requires(name) or ()]
    return names


def test_both_distributions_pass_the_registry_check(built: Path) -> None:
    assert len(list(built.glob("daicho-*.tar.gz"))) == 1
    output = run(BIN / "twine", "--no-color", "check", "--strict", *built.glob("daicho-*"))
    assert output.count("PASSED") == 2


def test_the_wheel_has_two_packages_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.partition("/")[0] for name in names}
    (information,) = (top for top in tops if top.endswith(".dist-info"))
    assert tops == {"daicho", "daicho_cli", information}
    sources = {
        str(path.relative_to(folder))
        for folder, package in ((ROOT / "functions", "daicho"), (ROOT, "daicho_cli"))
        for path in (folder / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in names if not name.startswith(information)} == sources
    assert "daicho/py.typed" in names
    licences = {Path(name).name for name in names if "/licenses/" in name}
    assert licences == {"LICENSE", "NOTICE"}


def test_the_bare_wheel_gives_the_library_and_a_sentence(python: Path) -> None:
    script = (
        "import daicho, sys\n"
        "names = [name for name in daicho.__all__ if getattr(daicho, name)]\n"
        "print(daicho.__file__, len(names), 'aws_cdk' in sys.modules)"
    )
    place, names, with_cdk = run(python, "-c", script).split()
    assert Path(place).is_relative_to(python.parents[1])
    assert (int(names) > 40, with_cdk) == (True, "False")
    output = run(python.parent / "daicho", "--help", status=1)
    assert output == "The command daicho needs more packages: pip install 'daicho[cli]'\n"


def test_with_the_extra_the_wheel_gives_the_command(python: Path, tmp_path: Path) -> None:
    requires = [Requirement(each) for each in metadata.requires("daicho") or ()]
    extra = [each for each in requires if each.marker and each.marker.evaluate({"extra": "cli"})]
    names = list_required([str(each).partition(";")[0] for each in extra])
    locked = (ROOT / "requirements.txt").read_text("utf-8")
    blocks = re.findall(r"^([a-z0-9.-]+)==(?:.*\\\n)+.*\n", locked, re.MULTILINE)
    assert names <= set(blocks)
    pins = tmp_path / "extra.txt"
    entries = re.finditer(r"^([a-z0-9.-]+)==(?:.*\\\n)+.*\n", locked, re.MULTILINE)
    pins.write_text("".join(entry[0] for entry in entries if entry[1] in names), "utf-8")
    install(python, "--require-hashes", "-r", pins)
    run(BIN / "uv", "pip", "check", "--python", python)
    assert "generation" in run(python.parent / "daicho", "--help")
    output = run(python.parent / "daicho", "docs", status=1)
    assert output.startswith("no Daicho project is in / or above: ")
    assert output.endswith("make one by daicho init NAME\n")
