"""Restores to random moments under load, of copies that are torn, with every step killed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from unittest import mock

from bench.speed.figures import Figure
from daicho.testing.schedules.schedule import Schedule
from tests.delivery.schedules.sources import build_named_schedule
from tests.delivery.soak import play_in_time
from tests.simulator.schedules import gap_events

WAYS = {"moved back": "table restore", "take-overs": "table lost"}
"""The profile of each way, and the kind of event that is a restore."""
MAX_SCHEDULES = 20
"""So many schedules without a recovery are played until one differs."""


def measure_schedules(restores: int, first_seed: int) -> Iterator[Figure]:
    """Play schedules until there were so many restores each way."""
    for profile, kind in WAYS.items():
        done = played = differing = 0
        for seed in count(first_seed):
            if done >= restores:
                break
            schedule = build_named_schedule(profile, seed)
            differing += bool(play_in_time(schedule))
            played += 1
            done += schedule.fault_counts[kind] if isinstance(schedule, Schedule) else 0
        yield Figure(f"{profile}: restores", done, "at least", restores, "", f"{played} schedules")
        yield Figure(f"{profile}: schedules that differ", differing, "at most", 0)
    with mock.patch.object(gap_events, "RECOVERS", False):
        seeds = range(first_seed, first_seed + MAX_SCHEDULES)
        found = (seed for seed in seeds if play_in_time(build_named_schedule("take-overs", seed)))
        shown = next(found, None)
    detail = "none" if shown is None else f"seed {shown}"
    differs = float(shown is not None)
    yield Figure("without the recovery: schedules that differ", differs, "at least", 1, "", detail)
