"""Fast counters under faults: no vote that was answered is missing, none is there twice."""

from __future__ import annotations

import os
from collections import Counter

import pytest

from daicho.testing.schedules.running import run_schedule
from tests.delivery.schedules.failures import describe_failure
from tests.delivery.worlds.likes import build_schedule

SCHEDULES = int(os.environ.get("SCHEDULES", "1000"))
SEED = int(os.environ.get("SEED", "1"))
SHARE, CHUNKS = 10, 2
"""Of a hundred schedules, and the pieces that two processes share."""


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_votes_are_there_once_whatever_happens(chunk: int) -> None:
    last = SEED + max(CHUNKS, SCHEDULES * SHARE // 100)
    for seed in range(SEED + chunk, last, CHUNKS):
        if run_schedule(build_schedule(seed)):
            pytest.fail(describe_failure("likes", seed))


def test_the_schedules_meet_what_they_are_for() -> None:
    fault_counts: Counter[str] = Counter()
    for seed in range(60):
        likes = build_schedule(seed)
        likes.run()
        fault_counts += likes.fault_counts
    for kind in (
        *("unknown", "slots grew", "vote over fewer slots", "throttled key", "live reading"),
        *("slots opened", "earlier rollup", "crowd", "rollup ended early"),
    ):
        assert fault_counts[kind] > 0, kind
