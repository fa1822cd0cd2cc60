"""Everything derived is exact, whatever Lambda does: random schedules against a recomputation."""

from __future__ import annotations

import os

import pytest

from daicho.testing.oracle.differences import list_entities_with_state
from daicho.testing.schedules.profile import Profile
from daicho.testing.schedules.running import build_schedule, run_schedule
from tests.delivery.schedules.failures import describe_failure
from tests.delivery.schedules.profiles import BY_NAME, PROFILES
from tests.delivery.schedules.regressions import Regression, load_regressions

SCHEDULES = int(os.environ.get("SCHEDULES", "500"))
SEED = int(os.environ.get("SEED", "1"))
CHUNKS = 4
"""Pieces of a profile, so that two processes share the work evenly."""
TOTAL = sum(each.share for each in PROFILES)


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_schedules(profile: Profile, chunk: int) -> None:
    last = SEED + max(CHUNKS, SCHEDULES * profile.share // TOTAL)
    for seed in range(SEED + chunk, last, CHUNKS):
        if build_schedule(profile, seed).run():
            pytest.fail(describe_failure(profile.name, seed))


@pytest.mark.parametrize("stored", load_regressions(), ids=lambda stored: stored.fault)
def test_what_failed_once_does_not_fail_again(stored: Regression) -> None:
    schedule = stored.build_schedule()
    assert run_schedule(schedule) == [], "\n".join(schedule.log)
    assert stored.run_with_fault(), "it is another schedule now: `regressions --find` finds one"


def test_every_entity_that_is_drawn_by_type_is_played() -> None:
    """Each has been stored, derived, counted and archived as it declares."""
    profile = BY_NAME["entities"]
    missing = set(profile.entities.names)
    for seed in range(300):
        schedule = build_schedule(profile, seed)
        assert run_schedule(schedule) == [], f"seed {seed}"
        missing -= list_entities_with_state(schedule.deployment, schedule.recompute())
        if not missing:
            return
    pytest.fail(f"never played: {missing}")


def test_requests_write_every_kind_of_side_item() -> None:
    """Otherwise the schedules would not test them."""
    seen = {"_deleted", "_history", "_bytes", "pieces", "changed", "price"}
    for seed in range(300):
        for profile in (BY_NAME["callers"], BY_NAME["documents"]):
            schedule = build_schedule(profile, seed)
            assert run_schedule(schedule) == [], f"{profile.name} {seed}"
            for _, item in schedule.deployment.dynamodb.items:
                seen -= item.keys()
        if not seen:
            return
    pytest.fail(f"never written: {seen}")


@pytest.mark.parametrize(
    ("profile", "event"),
    [
        ("restores", "restore"),
        ("overtaken", "race: overtake"),
        ("discards", "race: give up"),
        ("archive late", "race: archive late"),
        ("documents", "race: leftovers"),
        ("documents", "race: requests"),
        ("callers", "race: requests"),
        ("closing shards", "slot folded early"),
        ("closing without discards", "slot folded early"),
        ("closing upgrade", "late after retirement"),
        ("filter spread", "race: heartbeats passed"),
        ("lifecycle", "code rolled back"),
        ("lifecycle disabled", "race: going back"),
        ("rebuild", "rebuild killed"),
        ("rebuild poison", "rebuild blocked"),
        ("rebuild disabled", "purge completed"),
    ],
)
def test_rare_events_come_about(profile: str, event: str) -> None:
    """An event that ends before its race would be counted nowhere, and test nothing."""
    count = 0
    for seed in range(1, 61):
        schedule = build_schedule(BY_NAME[profile], seed)
        assert run_schedule(schedule) == [], f"{profile} {seed}"
        count += schedule.fault_counts[event] > 0
        if count == 5:
            return
    pytest.fail(f"only {count} of 60 schedules of {profile} have the event {event}")
