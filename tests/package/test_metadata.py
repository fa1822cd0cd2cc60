"""What pyproject.toml says of the package agrees with the pins, the code and the Makefile."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import daicho
from daicho.runtime.version import VERSION

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
LAYER = "functions/daicho/cdk/functions/requirements-layer.txt"
CODE = ("functions", "daicho_cli", "infra")


def read_pins(name: str) -> dict[str, Version]:
    """The versions of a lock file, by the name of the package."""
    lines = re.findall(r"^([a-z0-9.-]+)==([^ ;]+)", (ROOT / name).read_text("utf-8"), re.MULTILINE)
    return {package: Version(version) for package, version in lines}


def check_bounds(required: list[str], pins: dict[str, Version]) -> None:
    """Each requirement begins at the release that is pinned: below it nothing is tested."""
    for requirement in map(Requirement, required):
        pin = pins[requirement.name]
        lower = next(each for each in requirement.specifier if each.operator == ">=")
        assert requirement.specifier.contains(pin), f"{requirement} but pinned is {pin}"
        assert pin.release[: len(Version(lower.version).release)] == Version(lower.version).release


def test_the_library_requires_what_the_layer_holds() -> None:
    check_bounds(PROJECT["dependencies"], read_pins(LAYER))
    declared = (ROOT / LAYER).with_suffix(".in").read_text("utf-8")
    names = re.findall(r"^([a-z0-9-]+)(?:\[|==)", declared, re.MULTILINE)
    assert names == [Requirement(each).name for each in PROJECT["dependencies"]]


@pytest.mark.parametrize("extra", PROJECT["optional-dependencies"])
def test_an_extra_requires_what_is_pinned(extra: str) -> None:
    check_bounds(PROJECT["optional-dependencies"][extra], read_pins("requirements.txt"))


def test_the_build_backend_is_pinned() -> None:
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    (backend,) = pyproject["build-system"]["requires"]
    assert Requirement(backend).specifier.contains(read_pins("requirements.txt")["hatchling"])


def test_the_version_is_written_in_one_place() -> None:
    assert daicho.__version__ == VERSION
    text = re.compile(rf"['\"]{re.escape(VERSION)}['\"]")
    files = [path for folder in CODE for path in (ROOT / folder).rglob("*.py")]
    assert len(files) > 200
    holding = [path for path in files if text.search(path.read_text("utf-8"))]
    assert holding == [ROOT / "functions/daicho/runtime/version.py"]


def test_the_project_is_installed_in_editable_form() -> None:
    files = [str(file) for file in metadata.files("daicho") or ()]
    assert "_daicho.pth" in files
    assert not any(file.startswith("daicho/") for file in files)


def test_the_pythons_are_those_that_the_makefile_takes() -> None:
    listed = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert tuple(listed) == PYTHONS
    assert PROJECT["requires-python"] == f">={PYTHONS[0]}"
    makefile = (ROOT / "Makefile").read_text("utf-8")
    candidates = re.findall(r"^CANDIDATES := (.*)$", makefile, re.MULTILINE)[0].split()
    assert {f"python{version}" for version in PYTHONS} <= set(candidates)
