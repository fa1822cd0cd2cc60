"""Schedules of faults of your own: a profile in which DynamoDB throttles many requests."""

from __future__ import annotations

from daicho.plan import Ledger
from daicho.testing import Profile, build_schedules, run_schedule, simulate_ledger


def check_under_throttling(ledger: Ledger, schedules: int) -> list[str]:
    """The differences after schedules in which DynamoDB throttles many requests."""
    entities = simulate_ledger(ledger)
    throttled = Profile(
        "throttled",
        share=1,
        entities=entities,
        entity_sets=(entities.names,),
        faults=("throttled table", "throttled key"),
        fault_levels=(0.1, 0.3),
    )
    return [
        f"seed {schedule.seed}: {difference}"
        for schedule in build_schedules([throttled], schedules)
        for difference in run_schedule(schedule)
    ]
