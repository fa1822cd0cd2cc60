"""Slots, base and totals under faults: nothing counted is lost or doubled, days between or not."""

from __future__ import annotations

import os
from collections import Counter

import pytest

from daicho.testing.choices import Choices
from tests.delivery.worlds.tallies import Tallies, build_schedule

SCHEDULES = int(os.environ.get("SCHEDULES", "2000"))
FIRST_SEED = int(os.environ.get("FIRST_SEED", "1"))
SHARE, CHUNKS = 20, 2
"""Of a hundred schedules, and the pieces that two processes share."""


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_totals_are_what_was_counted_whatever_happens(chunk: int) -> None:
    last = FIRST_SEED + max(CHUNKS, SCHEDULES * SHARE // 100)
    for seed in range(FIRST_SEED + chunk, last, CHUNKS):
        if wrong := build_schedule(seed).run():
            again = Tallies(Choices(f"tallies/{seed}"), noting=True)
            again.run()
            pytest.fail("\n".join([f"seed {seed}", *again.log, *wrong]))


def test_the_schedules_meet_what_they_are_for() -> None:
    fault_counts: Counter[str] = Counter()
    for seed in range(60):
        tallies = build_schedule(seed)
        tallies.run()
        fault_counts += tallies.fault_counts
    for kind in ("slot folded", "quiet days", "crash before", "lost response", "conflict"):
        assert fault_counts[kind] > 0, kind
