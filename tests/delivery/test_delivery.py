"""Everything derived is exact, whatever Lambda does: random schedules against a recomputation."""

from __future__ import annotations

import os

import pytest

from tests.delivery.profiles import PROFILES, Profile
from tests.delivery.schedule import play
from tests.delivery.shrink import story

SCHEDULES = int(os.environ.get("SCHEDULES", "2000"))
FIRST_SEED = int(os.environ.get("FIRST_SEED", "1"))
CHUNKS = 4
TOTAL = sum(each.share for each in PROFILES)


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_schedules(profile: Profile, chunk: int) -> None:
    last = FIRST_SEED + max(CHUNKS, SCHEDULES * profile.share // TOTAL)
    for seed in range(FIRST_SEED + chunk, last, CHUNKS):
        if play(profile, seed).run():
            pytest.fail(story(profile, seed))
