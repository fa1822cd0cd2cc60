"""Schedules that once failed, or that show best why a rule is needed: kept, and played for ever.

``python -m tests.delivery.regressions PROFILE SEED`` tells the story of a schedule that fails,
shrunk, and prints what to put into ``regressions.toml``. ``--play NAME`` plays one that is kept.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.delivery.choices import Choices
from tests.delivery.profiles import BY_NAME
from tests.delivery.schedule import Delivery, failures
from tests.delivery.shrink import SECONDS, story

FILE = Path(__file__).with_suffix(".toml")


@dataclass(frozen=True)
class Regression:
    """A schedule by its choices. ``fault``: the planted fault that it was kept for, if any.

    ``says``: lines of its log, in order. A schedule is what its choices make of the simulator, so
    a change of the simulator may make another one of them; then it has to be found again.
    """

    name: str
    why: str
    profile: str
    choices: tuple[int, ...]
    says: tuple[str, ...] = ()
    fault: str = ""

    def delivery(self) -> Delivery:
        """The schedule, not yet played."""
        return Delivery(BY_NAME[self.profile], Choices(forced=self.choices), noting=True)

    def missing(self, log: Sequence[str]) -> list[str]:
        """Lines that it no longer says, or not in their order."""
        lines = iter(log)
        return [each for each in self.says if not any(each in line for line in lines)]


def regressions() -> list[Regression]:
    """All that are kept."""
    with FILE.open("rb") as file:
        found = tomllib.load(file).get("schedule", [])
    return [_regression(each) for each in found]


def _regression(read: dict[str, Any]) -> Regression:
    lists = {name: tuple(read.get(name, ())) for name in ("choices", "says")}
    return Regression(**{**read, **lists})


def main(arguments: Sequence[str]) -> int:
    """Tell a story, or play what is kept; gives 1 if it differs."""
    parser = argparse.ArgumentParser(prog="regressions", description=__doc__)
    parser.add_argument("profile", nargs="?", choices=sorted(BY_NAME))
    parser.add_argument("seed", nargs="?", type=int)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for shrinking")
    parser.add_argument("--play", help="a schedule that is kept")
    asked = parser.parse_args(arguments)
    if asked.play:
        (kept,) = (each for each in regressions() if each.name == asked.play)
        found = failures(kept.delivery())
        sys.stdout.write(f"{json.dumps(found)}\n")
        return int(bool(found))
    if asked.profile is None or asked.seed is None:
        parser.error("a profile and a seed, or --play")
    sys.stdout.write(f"{story(BY_NAME[asked.profile], asked.seed, asked.seconds)}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
