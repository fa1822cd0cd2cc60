"""Schedules that once failed, or that show best why a rule is needed: kept, and played for ever.

They are kept in words (`narration`), each with the fault of ``planted.toml`` that it finds: for a
bug, its fix turned round. If it no longer finds it, because the simulator has changed too much, it
is found again::

    python -m tests.delivery.schedules.regressions --find 'no fence' --in derived
    python -m tests.delivery.schedules.regressions PROFILE SEED

Both print what to put into ``regressions.toml``, under its story: the first of the simplest of a
few schedules of a profile, the second of a seed that fails.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from tests.delivery.mutants.planted import Fault, copied, faults
from tests.delivery.schedules.narration import Telling, Told, fewer
from tests.delivery.schedules.profiles import BY_NAME
from tests.delivery.schedules.schedule import Delivery, failures, play
from tests.delivery.schedules.shrink import SECONDS, kind_of, shrunk_of

FILE = Path(__file__).with_suffix(".toml")
MOST = 4_000
TRIES = 4


@dataclass(frozen=True)
class Regression:
    """A schedule in words, and the planted fault that it finds."""

    fault: str
    why: str
    profile: str
    things: int
    said: Mapping[str, str]

    def delivery(self) -> Delivery:
        """The schedule, not yet played."""
        return Delivery(BY_NAME[self.profile], Told(self.said, self.things), noting=True)

    def found(self) -> list[str]:
        """What differs when its fault is planted in a copy of the code."""
        found: list[str] = _in_copy(_named(self.fault), "--play", self.fault)
        return found


def regressions() -> list[Regression]:
    """All that are kept."""
    with FILE.open("rb") as file:
        found = tomllib.load(file).get("schedule", [])
    return [Regression(**each) for each in found]


def _named(name: str) -> Fault:
    (fault,) = (each for each in faults() if each.name == name)
    return fault


def _in_copy(fault: Fault, *arguments: str) -> Any:
    """What this module says, in JSON, in a copy of the code with a fault in it."""
    with copied(fault=fault) as copy:
        path = os.pathsep.join((str(copy), str(copy / "functions")))
        done = subprocess.run(
            [sys.executable, "-m", "tests.delivery.schedules.regressions", *arguments],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
            stdout=subprocess.PIPE,
            check=True,
        )
    return json.loads(done.stdout)


Words = tuple[int, dict[str, str], list[str]]


def _simplest(profile: str, seconds: float) -> Words:
    """The simplest of a few schedules of a profile that fail, shrunk, in words, and its story."""
    failing = islice(_failing(profile), TRIES)
    told = [_told(delivery, found, seconds / TRIES) for delivery, found in failing]
    if not told:
        raise LookupError(f"{MOST} schedules found nothing")
    return min(told, key=lambda one: len(one[1]) + len(one[2]))


def _failing(profile: str) -> Iterator[tuple[Delivery, list[str]]]:
    for seed in range(1, MOST + 1):
        delivery = play(BY_NAME[profile], seed)
        if found := failures(delivery):
            yield delivery, found


def _told(delivery: Delivery, found: list[str], seconds: float) -> Words:
    telling = Telling(shrunk_of(delivery, found, seconds))
    failures(Delivery(delivery.profile, telling))
    until = time.monotonic() + seconds

    def fails(said: Mapping[str, str]) -> bool:
        simpler = Delivery(delivery.profile, Told(said, telling.things))
        return time.monotonic() < until and kind_of(failures(simpler)) == kind_of(found)

    said = fewer(telling.said, fails)
    again = Delivery(delivery.profile, Told(said, telling.things), noting=True)
    left = failures(again)
    return telling.things, said, [*again.log, *(left or ["not found again"])]


def story(profile: str, seed: int, seconds: float = SECONDS) -> str:
    """What a seed that fails does, shrunk: for the one who has to understand it and keep it."""
    delivery = play(BY_NAME[profile], seed)
    found = failures(delivery)
    if not found:
        return f"{profile} {seed} does not fail"
    told = _told(delivery, found, seconds / 2)
    return f"{profile} {seed}: {found[0]}\n{_kept(profile, '', told)}"


def _kept(profile: str, fault: str, words: Words) -> str:
    """An entry of ``regressions.toml``."""
    things, said, told = words
    lines = [f"# {line}" for line in told]
    lines += ["[[schedule]]", f"fault = {json.dumps(fault)}", 'why = ""']
    lines += [f"profile = {json.dumps(profile)}", f"things = {things}"]
    lines += ["[schedule.said]", *(f'"{name}" = {json.dumps(said[name])}' for name in said)]
    return "\n".join(lines)


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
        sys.stdout.write(json.dumps(_simplest(asked.first, asked.seconds)))
    elif asked.find:
        more = ("--first", asked.inside, "--seconds", str(asked.seconds))
        words = _in_copy(_named(asked.find), *more)
        sys.stdout.write(f"{_kept(asked.inside, asked.find, words)}\n")
    elif asked.profile is None or asked.seed is None:
        parser.error("a profile and a seed, or --find")
    else:
        sys.stdout.write(f"{story(asked.profile, asked.seed, asked.seconds)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
