"""The profiles that test a rule: a planted fault that breaks it is played on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle, islice

from daicho.testing.schedules.running import Playable
from tests.delivery.schedules.sources import build_named_schedule, build_named_schedules

TALLIES, LIKES = "tallies", "likes"
"""The small worlds: one tally, and one fast counter."""
LIFECYCLE = ("lifecycle", "lifecycle disabled", "lifecycle superseded", "lifecycle replaced")
"""The profiles of releases: their third release differs."""
REBUILD = ("rebuild", "rebuild disabled", "rebuild superseded", "rebuild replaced")
"""The profiles of rebuilds: as above."""
CLOSING = ("closing shards", "closing without discards", "closing upgrade")
"""The profiles of shards that close and are retired."""
FIGURES = ("figures changed", "figures: entities", "figures folded", "figures: entities redriven")
"""The profiles of entities with every kind of figure, and with series."""
REPAIRS = ("repairs", "repairs set aside")
"""The profiles of damaged rows, and of runs that write them again."""
PROFILES_BY_RULE: dict[str, Sequence[str]] = {
    "1": ("plain", "split", "throttled"),
    "2": ("poison", "uncertain"),
    "3": ("deploy",),
    "4": ("throttled", "derived"),
    "5": ("throttled", "plain"),
    "6": ("derived", "expiry", "throttled"),
    "7": ("derived", "throttled"),
    "8": ("split", "plain"),
    "9": ("plain", "split", "throttled"),
    "10": ("plain", "split", "throttled"),
    "11": (TALLIES, "fold"),
    "12": (TALLIES, "overtaken", "rollup"),
    "13": ("redone", "uncertain", "poison"),
    "14": ("redone", "uncertain", "poison"),
    "15": ("redone", "uncertain", "beside", "days"),
    "16": ("beside", "aged", "discards"),
    "17": ("beside", "aged", "discards"),
    "18": ("poison",),
    "19": ("archive", "archive redrive"),
    "20": ("archive late", "archive", "archive redrive"),
    "21": ("archive", "archive redrive"),
    "22": ("archive redrive", "archive late"),
    "25": LIFECYCLE,
    "26": LIFECYCLE,
    "27": LIFECYCLE,
    "28": ("filter spread",),
    "29": REBUILD,
    "30": REBUILD,
    "31": ("filter spread",),
    "32": REBUILD,
    "33": ("rebuild kept",),
    "34": ("rebuild disabled", "rebuild replaced"),
    "35": ("row verifications", "verifications beside writes"),
    **dict.fromkeys(("36", "37"), ("tally verifications",)),
    "38": REPAIRS,
    "39": ("repairs",),
    "42": ("restores",),
    "48": CLOSING,
    "49": ("closing shards",),
    "55": ("as of", "as of, set aside", "as of, cut off"),
    "56": ("dismissals", "disputed dismissals"),
    "57": ("repairs",),
    "59": ("moved back", "moved back: unique", "moved back: parts"),
    "59B": ("take-overs",),
    "60": ("gaps", "gaps beside redrives"),
    "events": ("events", "events set aside"),
    "fast": (LIKES,),
    "figures": FIGURES,
    "rows": ("rows",),
    "expiry": ("expiry rules", "expiry restores"),
    "references": ("references",),
    "rules": ("rules",),
    "unique": ("unique",),
    "versions": ("callers",),
    "sections": ("documents",),
}


def build_schedules_of(names: Sequence[str], limit: int, first_seed: int = 1) -> Iterator[Playable]:
    """Schedules of some profiles, in turn."""
    for position, name in enumerate(islice(cycle(names), limit)):
        yield build_named_schedule(name, position // len(names) + first_seed)


def build_mixed_schedules(limit: int, first_seed: int = 1) -> Iterator[Playable]:
    """Schedules of all profiles and small worlds, as the soak plays them."""
    return islice(build_named_schedules(first_seed, limit), limit)
