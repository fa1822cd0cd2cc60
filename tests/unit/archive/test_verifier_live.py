"""Verifying an archive that is being written: whatever happens in between, nothing is wrong."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest

from daicho.archive.forgetter import Forgetter
from daicho.archive.reader import ArchiveReader, DayRange
from daicho.archive.verifier import Verifier, VerifyReport
from tests.support.memory_archive import MIDNIGHT, TODAY, WEEK_LATER, Kept

MOST_CALLS = 40
Event = Callable[[Kept], None]


def grows(kept: Kept) -> None:
    """Another batch of the same shard."""
    kept.append(10, 11)


def begins(kept: Kept) -> None:
    """The first batch of another shard."""
    kept.append(10, 11, shard="new")


def repeats(kept: Kept) -> None:
    """A late repeat, with another end."""
    kept.append(4, 5, 6, 10)


def rejoins(kept: Kept) -> None:
    """A redrive of what was given up: one record beside its chain, one behind it."""
    kept.rejoin(3, 10)


def forgets(kept: Kept) -> None:
    """A tenant is taken out of objects that are old enough."""
    Forgetter(kept.table, kept.bucket, now=lambda: WEEK_LATER).forget("other")


class Interrupted:
    """Passes calls on; before the one of a number something else happens."""

    def __init__(self, within: Any, clock: list[int], at: int, event: Callable[[], None]) -> None:
        self._within, self._clock, self._at, self._event = within, clock, at, event

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._within, name)

        def called(*args: Any, **more: Any) -> Any:
            self._clock[0] += 1
            if self._clock[0] == self._at:
                self._event()
            return method(*args, **more)

        return called


def verified(event: Event, at: int) -> tuple[VerifyReport, int]:
    """Verify, with something that happens before a call; the report, and how many calls."""
    kept = Kept(now=dt.datetime.fromtimestamp(MIDNIGHT + 3600, dt.UTC))
    kept.append(1, 2)
    kept.append(4, 5, tenant="other")
    kept.append(6)
    clock = [0]

    def happens() -> None:
        event(kept)

    table: Any = Interrupted(kept.table, clock, at, happens)
    bucket = Interrupted(kept.bucket, clock, at, happens)
    verifier = Verifier(table, ArchiveReader(bucket), now=lambda: kept.now)
    return verifier.verify(DayRange.for_rows(TODAY), ["Download"]), clock[0]


@pytest.mark.parametrize("event", [grows, begins, repeats, rejoins, forgets])
def test_nothing_is_found_of_what_happens_meanwhile(event: Event) -> None:
    calls = 0
    for at in range(1, MOST_CALLS):
        report, calls = verified(event, at)
        assert report.findings == [], f"before call {at} of {calls}"
        if at > calls:
            break
    assert 5 < calls < MOST_CALLS - 1
