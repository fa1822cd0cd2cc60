"""Versions of the package to upgrade from and to: wheels in a folder, as nothing is published."""

from __future__ import annotations

import shutil
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from tests.support.commands import run_command
from tests.support.repository import ROOT

BIN = Path(sys.executable).parent
CHANGES = Path(__file__).with_name("version-0.2.toml")
BUILT_FROM = (
    *("CHANGELOG.md", "LICENSE", "NOTICE", "README.md", "daicho_cli", "functions/daicho"),
    "pyproject.toml",
)
"""All that a wheel is built from."""


class CannotChangeError(Exception):
    """The code has grown away from a change: its text is not there."""


@dataclass(frozen=True)
class CodeChange:
    """A change of one text in one file, which has it once."""

    name: str
    file: str
    before: str
    after: str

    def apply(self, root: Path) -> None:
        """Change the file in a copy of the repository.

        Raises:
            CannotChangeError: the file has the text never, or more than once.
        """
        path = root / self.file
        text = path.read_text("utf-8") if path.exists() else ""
        if text.count(self.before) != 1:
            number = text.count(self.before)
            raise CannotChangeError(
                f"version 0.2, {self.name}: {self.file} has {self.before!r} {number} times, not 1"
            )
        path.write_text(text.replace(self.before, self.after), "utf-8")


def read_changes() -> list[CodeChange]:
    """What version 0.2 changes."""
    with CHANGES.open("rb") as file:
        return [CodeChange(**each) for each in tomllib.load(file)["change"]]


def copy_repository(folder: Path) -> Path:
    """What a wheel is built from, in ``folder``."""
    for name in BUILT_FROM:
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, target, symlinks=True, ignore=ignored)
        else:
            shutil.copy(source, target)
    return folder


def build_wheel(source: Path, folder: Path) -> None:
    """Build a wheel into ``folder`` from a copy of the repository."""
    options = ("--quiet", "--wheel", "--offline", "--no-build-isolation")
    places = ("--python", sys.executable, "--out-dir", folder, source)
    run_command(BIN / "uv", "build", *options, *places, folder=ROOT)
