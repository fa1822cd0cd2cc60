"""Which classes of schedules are about a rule: those that a fault which breaks it is played on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle, islice

from tests.delivery.oracle import likes, tallies
from tests.delivery.schedules.profiles import BY_NAME
from tests.delivery.schedules.schedule import Playable, play, seeds

TALLIES, LIKES = "tallies", "likes"
"""One tally, and one fast counter, by themselves."""
DERIVED = ("derived", "throttled")
COUNTED = ("plain", "split", "throttled")
CLAIMED = ("redone", "uncertain", "poison")
REDRIVEN = ("redone", "uncertain", "beside", "days")
GIVEN_UP = ("beside", "aged", "discards")
ARCHIVED = ("archive", "archive redrive")
ABOUT: dict[str, Sequence[str]] = {
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
"""Of so many schedules of the whole mix two are of one tally, and one of one fast counter."""


def about(rule: str, most: int) -> Iterator[Playable]:
    """Schedules of the classes that are about a rule, in turn."""
    names = ABOUT[rule]
    for place, name in enumerate(islice(cycle(names), most)):
        seed = place // len(names) + 1
        if name in (TALLIES, LIKES):
            yield (tallies if name == TALLIES else likes).play(seed)
        else:
            yield play(BY_NAME[name], seed)


def mixed(most: int) -> Iterator[Playable]:
    """Whole deliveries of all profiles, and every few of them something by itself."""
    deliveries = seeds(most)
    for number in range(most):
        match number % PARTS:
            case 3 | 8:
                yield tallies.play(number)
            case 7:
                yield likes.play(number)
            case _:
                yield next(deliveries)
