"""Faults to plant in a copy of the code: each is a change of text that breaks the protocol.

``planted.toml`` holds them. ``python -m tests.delivery.mutation_check`` says how many schedules
find each.
"""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parent.parent.parent
COPIED = ("functions", "infra", "tests/delivery", "tests/infra/snapshots")
"""What schedules run on, and what they are made of: enough to play them elsewhere."""


class CannotPlantError(Exception):
    """A fault that the code has grown away from: its text is not there just once."""


@dataclass(frozen=True)
class Fault:
    """A change of one file's text. ``rule``: the EXACTNESS rule that it breaks, or what else."""

    name: str
    rule: str
    file: str
    right: str
    wrong: str

    def planted(self) -> str:
        """The file's text with the fault in it.

        Raises:
            CannotPlantError: the text to be changed does not stand in the file just once.
        """
        text = (ROOT / self.file).read_text(encoding="utf-8")
        if text.count(self.right) != 1:
            raise CannotPlantError(f"{self.name}: {self.file} has {self.right!r} not just once")
        return text.replace(self.right, self.wrong)


def faults() -> list[Fault]:
    """The faults of ``planted.toml``."""
    with (Path(__file__).parent / "planted.toml").open("rb") as file:
        return [Fault(**each) for each in tomllib.load(file)["fault"]]


@contextmanager
def copy_with(fault: Fault | None) -> Iterator[Path]:
    """A folder with a copy of the code, and the fault planted in it; None plants none."""
    text = fault.planted() if fault else ""
    with TemporaryDirectory(prefix="planted-") as folder:
        copy = Path(folder)
        for each in COPIED:
            shutil.copytree(ROOT / each, copy / each, ignore=shutil.ignore_patterns("__pycache__"))
        for module in (ROOT / "tests").glob("*.py"):
            shutil.copy(module, copy / "tests")
        if fault:
            (copy / fault.file).write_text(text, encoding="utf-8")
        yield copy
