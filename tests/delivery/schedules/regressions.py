"""Schedules that once failed, or that show best why a rule is needed. They are played in each run.

They are stored by named choices, each with the fault of ``planted.toml`` that it finds: for a bug,
the reversal of its fix. If a schedule no longer finds its fault, because the simulator has changed
too much, another one is searched for::

    python -m tests.delivery.schedules.regressions --find 'no fence' --in derived
    make delivery-soak PROFILE=derived SEED=17 SCHEDULES=1

Both print what to put into ``regressions.toml``, under its story: the first of the simplest of a
few schedules of a profile, the second of a seed that fails.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

from daicho.testing.schedules.running import build_schedule, get_builder, run_schedule
from daicho.testing.schedules.schedule import Schedule
from daicho.testing.schedules.shrinking import SHRINKING_S
from tests.delivery.schedules.failures import render_entry
from tests.delivery.schedules.planted_copies import find_fault, run_module_in_copy
from tests.delivery.schedules.profiles import BY_NAME
from tests.simulator.schedules.named_choices import ReplayedChoices
from tests.simulator.schedules.recorded_stories import Story, record_story

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
    events_before_fix: int | None = None

    def build_schedule(self) -> Schedule:
        """The schedule, not yet played."""
        choices = ReplayedChoices(self.chosen, self.event_count, self.events_before_fix)
        return Schedule(BY_NAME[self.profile], choices)

    def run_with_fault(self) -> list[str]:
        """The differences when its fault is planted in a copy of the code."""
        fault = find_fault(self.fault)
        differences: list[str] = run_module_in_copy(fault, __spec__.name, "--play", self.fault)
        return differences


def load_regressions() -> list[Regression]:
    """All stored schedules."""
    with FILE.open("rb") as file:
        entries = tomllib.load(file).get("schedule", [])
    return [Regression(**entry) for entry in entries]


def _find_simplest(profile: str, seconds: float) -> Story:
    """The simplest story of a few schedules of a profile that fail."""
    failing = list(islice(_find_failing(profile), TRIES))
    if not failing:
        raise LookupError(f"{MAX_SCHEDULES} schedules show no difference")
    stories = [
        record_story(get_builder(schedule), schedule.choices, differences, seconds / TRIES)
        for schedule, differences in failing
    ]
    return min(stories, key=lambda story: len(story.chosen) + len(story.lines))


def _find_failing(profile: str) -> Iterator[tuple[Schedule, list[str]]]:
    for seed in range(1, MAX_SCHEDULES + 1):
        schedule = build_schedule(BY_NAME[profile], seed)
        if differences := run_schedule(schedule):
            yield schedule, differences


def main(arguments: Sequence[str]) -> int:
    """Do what the arguments request; returns the exit status."""
    parser = argparse.ArgumentParser(prog="regressions", description=__doc__)
    parser.add_argument("--find", help="the name of a planted fault")
    parser.add_argument("--in", dest="profile", choices=sorted(BY_NAME), default="mixed")
    parser.add_argument("--seconds", type=float, default=SHRINKING_S, help="for shrinking")
    parser.add_argument("--play", help=argparse.SUPPRESS)
    parser.add_argument("--tell", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.play:
        (stored,) = (each for each in load_regressions() if each.fault == options.play)
        sys.stdout.write(json.dumps(run_schedule(stored.build_schedule())))
    elif options.tell:
        sys.stdout.write(json.dumps(asdict(_find_simplest(options.tell, options.seconds))))
    elif options.find:
        more = ("--tell", options.profile, "--seconds", str(options.seconds))
        found = run_module_in_copy(find_fault(options.find), __spec__.name, *more)
        sys.stdout.write(f"{render_entry(options.profile, options.find, Story(**found))}\n")
    else:
        parser.error("--find")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
