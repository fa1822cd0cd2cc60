"""Everything derived is exact, whatever Lambda does: random schedules against a recomputation."""

from __future__ import annotations

import os

import pytest

from daicho.storage import keys
from tests.delivery.declared import ALL_DOMAINS
from tests.delivery.schedules.profile import Profile
from tests.delivery.schedules.profiles import BY_NAME, PROFILES
from tests.delivery.schedules.regressions import Regression, regressions, story
from tests.delivery.schedules.schedule import failures, play

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


def test_every_entity_of_the_stack_is_played() -> None:
    """Each has been stored, derived, counted and archived as it declares."""
    declared, profile = ALL_DOMAINS, BY_NAME["domains"]
    missing = {*declared.newest.derived_types, *declared.newest.archived_types}
    for seed in range(300):
        delivery = play(profile, seed)
        assert failures(delivery) == [], f"seed {seed}"
        world, site = delivery.world, delivery.site
        wanted = [*world.rows(), *(key for key, _ in site.table.items if "#+" in key.pk)]
        missing -= {keys.parse(key.pk)[1].strip("~+").partition(".")[0] for key in wanted}
        missing -= {item["type"]["S"] for item in world.expired}
        if not missing:
            return
    pytest.fail(f"never played: {missing}")


def test_callers_do_all_that_they_may_ask_for() -> None:
    """Else nothing would be said of what stands beside items."""
    seen = {"_deleted", "_history", "_bytes", "pieces", "changed", "price"}
    for seed in range(300):
        for profile in (BY_NAME["callers"], BY_NAME["documents"]):
            delivery = play(profile, seed)
            assert failures(delivery) == [], f"{profile.name} {seed}"
            for _, item in delivery.site.table.items:
                seen -= item.keys()
        if not seen:
            return
    pytest.fail(f"never written: {seen}")
