"""Faults to plant in the library: the schedules must find each of them.

``python -m tests.delivery.planted [name…]`` copies the library, plants one fault after another,
and says how many schedules each took.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
MOST_SCHEDULES = 4_000


@dataclass(frozen=True)
class Fault:
    """A change of one file's text."""

    name: str
    file: str
    right: str
    wrong: str


def faults() -> list[Fault]:
    """The faults of ``planted.toml``."""
    with (Path(__file__).parent / "planted.toml").open("rb") as file:
        return [Fault(**each) for each in tomllib.load(file)["fault"]]


def planted(fault: Fault) -> str:
    """The text of the fault's file with the fault in it."""
    text = (ROOT / "functions/daicho" / fault.file).read_text(encoding="utf-8")
    if text.count(fault.right) != 1:
        raise ValueError(f"{fault.name}: {fault.file} holds {fault.right!r} not just once")
    return text.replace(fault.right, fault.wrong)


def schedules_to_find(fault: Fault, most: int = MOST_SCHEDULES) -> int | None:
    """Plant a fault in a copy of the library; the number of schedules until one differs."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "daicho")
        shutil.copytree(ROOT / "functions/daicho", library)
        (library / fault.file).write_text(planted(fault), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "tests.delivery.planted", "--find", str(most)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"},
            capture_output=True,
            text=True,
            check=True,
        )
    found = int(done.stdout.split()[-1])
    if done.stderr:
        sys.stdout.write(f"{fault.name}: {done.stderr.splitlines()[-1]}\n")
    return found if found <= most else None


def _find(most: int) -> int:
    import logging  # noqa: PLC0415

    from tests.delivery.schedule import Delivery  # noqa: PLC0415

    logging.disable()
    for seed in range(1, most + 1):
        try:
            if Delivery(seed).run():
                return seed
        except Exception as error:  # a fault may also end in an error
            sys.stderr.write(f"{error!r}\n")
            return seed
    return most + 1


def _main(arguments: list[str]) -> None:
    if arguments[:1] == ["--find"]:
        sys.stdout.write(f"{_find(int(arguments[1]))}\n")
        return
    for fault in faults():
        if not arguments or any(each in fault.name for each in arguments):
            began = time.monotonic()
            found = schedules_to_find(fault)
            seconds = time.monotonic() - began
            sys.stdout.write(f"{found or 'never':>6}  {seconds:5.1f} s  {fault.name}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    _main(sys.argv[1:])
