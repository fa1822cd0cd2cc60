"""Schedules that once failed, or that show best why a rule is needed. They are played in each run.

They are stored by named choices, each with the fault of ``planted.toml`` that it finds: for a bug,
the reversal of its fix. If a schedule no longer finds its fault, because the simulator has changed
too much, another one is searched for::

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
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from daicho.testing.schedules.named_choices import ReplayedChoices
from daicho.testing.schedules.running import build_schedule, run_schedule
from daicho.testing.schedules.schedule import Schedule
from daicho.testing.schedules.shrinking import SHRINKING_S
from daicho.testing.schedules.stories import Story, tell_story
from tests.delivery.mutants.planted import Fault, copied, faults
from tests.delivery.schedules.profiles import BY_NAME

FILE = Path(__file__).with_suffix(".toml")
MAX_SCHEDULES = 4_000
TRIES = 4


@dataclass(frozen=True)
class Regression:
    """A schedule by named choices, and the planted fault that it finds."""

    fault: str
    why: str
    profile: str
    event_count: int
    chosen: Mapping[str, str]

    def build_schedule(self) -> Schedule:
        """The schedule, not yet played."""
        choices = ReplayedChoices(self.chosen, self.event_count)
        return Schedule(BY_NAME[self.profile], choices, noting=True)

    def run_with_fault(self) -> list[str]:
        """The differences when its fault is planted in a copy of the code."""
        differences: list[str] = _run_in_copy(_find_fault(self.fault), "--play", self.fault)
        return differences


def load_regressions() -> list[Regression]:
    """All stored schedules."""
    with FILE.open("rb") as file:
        entries = tomllib.load(file).get("schedule", [])
    return [Regression(**entry) for entry in entries]


def _find_fault(name: str) -> Fault:
    (fault,) = (fault for fault in faults() if fault.name == name)
    return fault


def _run_in_copy(fault: Fault, *arguments: str) -> Any:
    """The JSON that this module prints in a copy of the code with a fault in it."""
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


def _find_simplest(profile: str, seconds: float) -> Story:
    """The simplest story of a few schedules of a profile that fail."""
    failing = list(islice(_find_failing(profile), TRIES))
    if not failing:
        raise LookupError(f"{MAX_SCHEDULES} schedules show no difference")
    stories = [
        tell_story(schedule, differences, seconds / TRIES) for schedule, differences in failing
    ]
    return min(stories, key=lambda story: len(story.chosen) + len(story.lines))


def _find_failing(profile: str) -> Iterator[tuple[Schedule, list[str]]]:
    for seed in range(1, MAX_SCHEDULES + 1):
        schedule = build_schedule(BY_NAME[profile], seed)
        if differences := run_schedule(schedule):
            yield schedule, differences


def describe_failure(profile: str, seed: int, seconds: float = SHRINKING_S) -> str:
    """The shrunk story of a seed that fails, as an entry of ``regressions.toml``."""
    schedule = build_schedule(BY_NAME[profile], seed)
    differences = run_schedule(schedule)
    if not differences:
        return f"{profile} {seed} does not fail"
    story = tell_story(schedule, differences, seconds)
    return f"{profile} {seed}: {differences[0]}\n{_render_entry(profile, '', story)}"


def _render_entry(profile: str, fault: str, story: Story) -> str:
    """An entry of ``regressions.toml``."""
    lines = [f"# {line}" for line in story.lines]
    lines += ["[[schedule]]", f"fault = {json.dumps(fault)}", 'why = ""']
    lines += [f"profile = {json.dumps(profile)}", f"event_count = {story.event_count}"]
    chosen = (f'"{name}" = {json.dumps(value)}' for name, value in story.chosen.items())
    return "\n".join([*lines, "[schedule.chosen]", *chosen])


def main(arguments: Sequence[str]) -> int:
    """Do what the arguments request; returns the exit status."""
    parser = argparse.ArgumentParser(prog="regressions", description=__doc__)
    parser.add_argument("profile", nargs="?", choices=sorted(BY_NAME))
    parser.add_argument("seed", nargs="?", type=int)
    parser.add_argument("--find", help="the name of a planted fault")
    parser.add_argument("--in", dest="inside", choices=sorted(BY_NAME), default="mixed")
    parser.add_argument("--seconds", type=float, default=SHRINKING_S, help="for shrinking")
    parser.add_argument("--play", help=argparse.SUPPRESS)
    parser.add_argument("--first", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.play:
        (stored,) = (each for each in load_regressions() if each.fault == options.play)
        sys.stdout.write(json.dumps(run_schedule(stored.build_schedule())))
    elif options.first:
        sys.stdout.write(json.dumps(asdict(_find_simplest(options.first, options.seconds))))
    elif options.find:
        more = ("--first", options.inside, "--seconds", str(options.seconds))
        story = Story(**_run_in_copy(_find_fault(options.find), *more))
        sys.stdout.write(f"{_render_entry(options.inside, options.find, story)}\n")
    elif options.profile is None or options.seed is None:
        parser.error("a profile and a seed, or --find")
    else:
        description = describe_failure(options.profile, options.seed, options.seconds)
        sys.stdout.write(f"{description}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
