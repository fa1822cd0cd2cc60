"""Everything derived is exact, whatever Lambda does: random schedules against a recomputation."""

from __future__ import annotations

import os

import pytest

from tests.delivery.profiles import PROFILES, Profile
from tests.delivery.regressions import Regression, regressions, story
from tests.delivery.schedule import failures, play

SCHEDULES = int(os.environ.get("SCHEDULES", "2000"))
FIRST_SEED = int(os.environ.get("FIRST_SEED", "1"))
CHUNKS = 4
"""Pieces of a profile, so that two processes share the work evenly."""
TOTAL = sum(each.share for each in PROFILES)


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_schedules(profile: Profile, chunk: int) -> None:
    last = FIRST_SEED + max(CHUNKS, SCHEDULES * profile.share // TOTAL)
    for seed in range(FIRST_SEED + chunk, last, CHUNKS):
        if play(profile, seed).run():
            pytest.fail(story(profile.name, seed))


@pytest.mark.parametrize("kept", regressions(), ids=lambda kept: kept.fault)
def test_what_failed_once_does_not_fail_again(kept: Regression) -> None:
    delivery = kept.delivery()
    assert failures(delivery) == [], "\n".join(delivery.log)
    assert kept.found(), "it is another schedule now: `regressions --find` finds it again"
