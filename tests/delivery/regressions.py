"""Schedules that once failed, or that show best why a rule is needed: kept, and played for ever.

A schedule is what its choices make of the simulator, so a change of the simulator may make another
one of them. Each is therefore kept with the fault of ``planted.toml`` that it finds: for a bug,
its fix turned round. If it no longer finds it, it is found again::

    python -m tests.delivery.regressions --find 'no fence' --in derived
    python -m tests.delivery.regressions PROFILE SEED

The first prints what to put into ``regressions.toml``, the second the story of a seed that fails,
both shrunk.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.delivery.choices import Choices
from tests.delivery.planted import Fault, copied, faults
from tests.delivery.profiles import BY_NAME
from tests.delivery.schedule import Delivery, failures, play
from tests.delivery.shrink import SECONDS, shrunk_of, story

FILE = Path(__file__).with_suffix(".toml")
MOST = 4_000


@dataclass(frozen=True)
class Regression:
    """A schedule by its choices, and the planted fault that it finds."""

    fault: str
    why: str
    profile: str
    choices: tuple[int, ...]

    def delivery(self) -> Delivery:
        """The schedule, not yet played."""
        return Delivery(BY_NAME[self.profile], Choices(forced=self.choices), noting=True)

    def found(self) -> list[str]:
        """What differs when its fault is planted in a copy of the code."""
        found: list[str] = _in_copy(_named(self.fault), "--play", self.fault)
        return found


def regressions() -> list[Regression]:
    """All that are kept."""
    with FILE.open("rb") as file:
        found = tomllib.load(file).get("schedule", [])
    return [Regression(**{**each, "choices": tuple(each["choices"])}) for each in found]


def _named(name: str) -> Fault:
    (fault,) = (each for each in faults() if each.name == name)
    return fault


def _in_copy(fault: Fault, *arguments: str) -> Any:
    """What this module says, in JSON, in a copy of the code with a fault in it."""
    with copied(fault=fault) as copy:
        path = os.pathsep.join((str(copy), str(copy / "functions")))
        done = subprocess.run(
            [sys.executable, "-m", "tests.delivery.regressions", *arguments],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
            stdout=subprocess.PIPE,
            check=True,
        )
    return json.loads(done.stdout)


def _first(profile: str, seconds: float) -> tuple[list[int], list[str]]:
    """The choices and the story of the first schedule of a profile that fails, shrunk."""
    for seed in range(1, MOST + 1):
        delivery = play(BY_NAME[profile], seed)
        if found := failures(delivery):
            choices = shrunk_of(delivery, found, seconds)
            told = Delivery(BY_NAME[profile], Choices(forced=choices), noting=True)
            found = failures(told)
            return choices, [*told.log, *found]
    raise LookupError(f"{MOST} schedules found nothing")


def main(arguments: Sequence[str]) -> int:
    """Do what is asked; gives the exit status."""
    parser = argparse.ArgumentParser(prog="regressions", description=__doc__)
    parser.add_argument("profile", nargs="?", choices=sorted(BY_NAME))
    parser.add_argument("seed", nargs="?", type=int)
    parser.add_argument("--find", help="the name of a planted fault")
    parser.add_argument("--in", dest="inside", choices=sorted(BY_NAME), default="mixed")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for shrinking")
    parser.add_argument("--play", help=argparse.SUPPRESS)
    parser.add_argument("--first", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.play:
        (kept,) = (each for each in regressions() if each.fault == asked.play)
        said: Any = failures(kept.delivery())
        sys.stdout.write(json.dumps(said))
    elif asked.first:
        sys.stdout.write(json.dumps(_first(asked.first, asked.seconds)))
    elif asked.find:
        more = ("--first", asked.inside, "--seconds", str(asked.seconds))
        choices, told = _in_copy(_named(asked.find), *more)
        sys.stdout.write("\n".join((*(f"# {line}" for line in told), "[[schedule]]", "")))
        sys.stdout.write(f'fault = "{asked.find}"\nwhy = ""\nprofile = "{asked.inside}"\n')
        sys.stdout.write(f"choices = {choices}\n")
    elif asked.profile is None or asked.seed is None:
        parser.error("a profile and a seed, or --find")
    else:
        sys.stdout.write(f"{story(BY_NAME[asked.profile], asked.seed, asked.seconds)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
