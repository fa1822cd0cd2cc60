"""The faults of ``planted.toml``, and copies of the code with one of them in it.

``python -m tests.delivery.mutants.mutation_check`` says how many schedules find each.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.planting import ROOT, Fault, read_faults

COPIED = ("functions", "tests/delivery", "tests/simulator", "tests/support")
"""What schedules run on, and what they are made of: enough to play them elsewhere."""


@cache
def read_planted() -> tuple[Fault, ...]:
    """The faults of ``planted.toml``."""
    return tuple(read_faults(Path(__file__).parent / "planted.toml"))


@contextmanager
def copy_with_fault(root: Path = ROOT, fault: Fault | None = None) -> Iterator[Path]:
    """A folder with a copy of the code, and the fault planted in it.

    Raises:
        CannotPlantError: see `Fault.plant`.
    """
    text = fault.plant(root) if fault else ""
    with TemporaryDirectory(prefix="planted-") as folder:
        copy = Path(folder).resolve()
        for each in COPIED:
            shutil.copytree(root / each, copy / each, ignore=shutil.ignore_patterns("__pycache__"))
        for module in (root / "tests").glob("*.py"):
            shutil.copy(module, copy / "tests")
        if fault:
            (copy / fault.file).write_text(text, encoding="utf-8")
        yield copy
