"""Slots, base and totals under faults: nothing counted is lost or doubled, days between or not."""

from __future__ import annotations

import os
from collections import Counter

import pytest

from daicho.testing.schedules.running import run_schedule
from tests.delivery.schedules.failures import describe_failure
from tests.delivery.worlds.tallies import build_schedule

SCHEDULES = int(os.environ.get("SCHEDULES", "1000"))
SEED = int(os.environ.get("SEED", "1"))
SHARE, CHUNKS = 20, 2
"""Of a hundred schedules, and the pieces that two processes share."""


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_totals_are_what_was_counted_whatever_happens(chunk: int) -> None:
    last = SEED + max(CHUNKS, SCHEDULES * SHARE // 100)
    for seed in range(SEED + chunk, last, CHUNKS):
        if run_schedule(build_schedule(seed)):
            pytest.fail(describe_failure("tallies", seed))


def test_the_schedules_meet_what_they_are_for() -> None:
    fault_counts: Counter[str] = Counter()
    for seed in range(60):
        tallies = build_schedule(seed)
        tallies.run()
        fault_counts += tallies.fault_counts
    for kind in ("slot folded", "quiet days", "crash before", "lost response", "conflict"):
        assert fault_counts[kind] > 0, kind
