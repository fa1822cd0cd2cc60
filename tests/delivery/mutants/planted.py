"""Faults to plant in a copy of the code: each is a change of text that breaks the protocol.

``planted.toml`` holds them. ``python -m tests.delivery.mutants.mutation_check`` says how many
schedules find each.
"""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[3]
COPIED = ("functions", "tests/delivery", "tests/simulator", "tests/support")
"""What schedules run on, and what they are made of: enough to play them elsewhere."""


class CannotPlantError(Exception):
    """A fault that the code has grown away from: its text is not there."""


@dataclass(frozen=True)
class Fault:
    """A change of one file's text. ``rule``: the rule that it breaks, by its number in
    docs/explanation/exactness-proof.md.

    ``times``: how often the text to be changed stands in the file. ``profiles``: those that test
    this part of the rule, if they are not those of the whole rule.
    """

    name: str
    rule: str
    file: str
    right: str
    wrong: str
    times: int = 1
    profiles: Sequence[str] = ()

    def planted(self, root: Path = ROOT) -> str:
        """The file's text with the fault in it.

        Raises:
            CannotPlantError: the text to be changed stands in the file more or less often.
        """
        text = (root / self.file).read_text(encoding="utf-8")
        if text.count(self.right) != self.times:
            what = f"{self.file} has {self.right!r} {text.count(self.right)} times"
            raise CannotPlantError(f"{self.name}: {what}, not {self.times}")
        return text.replace(self.right, self.wrong)


def faults() -> list[Fault]:
    """The faults of ``planted.toml``."""
    with (Path(__file__).parent / "planted.toml").open("rb") as file:
        return [
            Fault(**{**entry, "profiles": tuple(entry.get("profiles", ()))})
            for entry in tomllib.load(file)["fault"]
        ]


@contextmanager
def copied(root: Path = ROOT, fault: Fault | None = None) -> Iterator[Path]:
    """A folder with a copy of the code, and the fault planted in it."""
    text = fault.planted(root) if fault else ""
    with TemporaryDirectory(prefix="planted-") as folder:
        copy = Path(folder).resolve()
        for each in COPIED:
            shutil.copytree(root / each, copy / each, ignore=shutil.ignore_patterns("__pycache__"))
        for module in (root / "tests").glob("*.py"):
            shutil.copy(module, copy / "tests")
        if fault:
            (copy / fault.file).write_text(text, encoding="utf-8")
        yield copy
