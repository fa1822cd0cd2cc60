"""The profiles that test a rule: a planted fault that breaks it is played on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle, islice

from daicho.testing.schedules.running import Playable, build_schedule
from tests.delivery.schedules.profiles import BY_NAME, build_all_schedules
from tests.delivery.worlds import likes, tallies

TALLIES, LIKES = "tallies", "likes"
"""The small worlds: one tally, and one fast counter."""
DERIVED = ("derived", "throttled")
COUNTED = ("plain", "split", "throttled")
CLAIMED = ("redone", "uncertain", "poison")
REDRIVEN = ("redone", "uncertain", "beside", "days")
GIVEN_UP = ("beside", "aged", "discards")
ARCHIVED = ("archive", "archive redrive")
PROFILES_BY_RULE: dict[str, Sequence[str]] = {
    "1": COUNTED,
    "2": ("poison", "uncertain"),
    "3": ("deploy",),
    "4": ("throttled", "derived"),
    "5": ("throttled", "plain"),
    "6": ("derived", "expiry", "throttled"),
    "7": DERIVED,
    "8": ("split", "plain"),
    "9": COUNTED,
    "10": COUNTED,
    "11": (TALLIES, "fold"),
    "12": (TALLIES, "rollup", "fold"),
    "13": CLAIMED,
    "14": CLAIMED,
    "15": REDRIVEN,
    "16": GIVEN_UP,
    "17": GIVEN_UP,
    "18": ("poison",),
    "19": ARCHIVED,
    "20": ARCHIVED,
    "21": ARCHIVED,
    "22": ("archive redrive",),
    "fast": (LIKES,),
    "versions": ("callers",),
    "sections": ("documents",),
}
PARTS = 10
"""Of so many schedules of the mix, two are of one tally, and one is of one fast counter."""


def build_schedules_for_rule(rule: str, limit: int) -> Iterator[Playable]:
    """Schedules of the profiles that test a rule, in turn."""
    names = PROFILES_BY_RULE[rule]
    for position, name in enumerate(islice(cycle(names), limit)):
        seed = position // len(names) + 1
        if name in (TALLIES, LIKES):
            yield (tallies if name == TALLIES else likes).build_schedule(seed)
        else:
            yield build_schedule(BY_NAME[name], seed)


def build_mixed_schedules(limit: int) -> Iterator[Playable]:
    """Schedules of all profiles, with some of the small worlds among them."""
    deliveries = build_all_schedules(limit)
    for number in range(limit):
        match number % PARTS:
            case 3 | 8:
                yield tallies.build_schedule(number)
            case 7:
                yield likes.build_schedule(number)
            case _:
                yield next(deliveries)
