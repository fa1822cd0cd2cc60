"""What one process knows of a tenant's quota, and what it has let through since. Pure.

Each limit is a rate, and the record of a tenant has one number for it: the theoretical time
``until`` which the tenant has consumed (the generic cell rate algorithm). Consumption moves it by
its share of a second, from now or from where it is, whichever is later. The tenant is over the
limit while ``until`` is more than ``burst_seconds`` ahead. Times are microseconds since 1970.

A process moves a copy of these times, and collects a debt: what it has let through and not added to
the record yet. When it adds the debt, it learns what others have added.
`docs/explanation/quotas.md` has the error of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import ceil
from typing import Any, NamedTuple

from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.tenant_limits import RATES, Limits
from daicho.storage.attributes import Image, from_value

MICROSECONDS = 1_000_000
DEBT_SHARE = 10
"""A process adds its debt to the record after this part of a burst."""
MIN_DEBT, MAX_DEBT = 20, 100
"""But after so many requests at least and at most. An addition takes one write unit, and another
one if the record is not as expected: at most 0.1 for each request."""
RECOUNT_MIN_S, RECOUNT_MAX_S = 5.0, 300.0
"""After so many seconds the items of a tenant are counted again: at the latest when it could have
reached its limit since, if it wrote as much as it may."""


class Usage(NamedTuple):
    """What a tenant consumed. ``bytes``: of the bodies of requests and of answers.

    ``write_units`` contains an estimate of what derives from the writes. ``refused``: the requests
    that were answered 429; they are not in ``requests``.
    """

    requests: int = 0
    read_units: float = 0.0
    write_units: float = 0.0
    bytes: int = 0
    refused: int = 0

    @classmethod
    def from_image(cls, record: Image) -> Usage:
        """What a record contains."""
        return cls(**{name: _read_number(record, name) for name in USAGE_NAMES})


USAGE_NAMES = Usage._fields
_UNTIL = tuple(f"until_{name}" for name in RATES)
"""The attributes of a record that have the time of a limit."""


@dataclass(frozen=True)
class Excess:
    """The limit that a tenant exceeds, and in how many seconds it will not any more."""

    limit: str
    seconds: int


class Account:
    """A tenant in one process. It is not safe to share by threads: see `Quotas`.

    ``day``: that of the record which is known; empty if none is. ``is_due``: the debt is worth a
    request that adds it to the record. ``refused``: the requests since the last addition.
    ``items``: as counted last; they are counted again from ``recount_at``.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits, self.day, self.is_due, self.is_sending = limits, "", False, False
        self.refused, self.items, self.recount_at = 0, 0, 0.0
        self._rates = (limits.requests, limits.read_units, limits.write_units)
        self._costs = tuple(MICROSECONDS / rate for rate in self._rates)
        self._burst = limits.burst_seconds * MICROSECONDS
        most = [rate * limits.burst_seconds / DEBT_SHARE for rate in self._rates]
        self.max_debt = (min(MAX_DEBT, max(MIN_DEBT, most[0])), most[1], most[2])
        self._debt: list[Any] = [0, 0.0, 0.0, 0]
        self._until, self._known = [0.0, 0.0, 0.0], [0, 0, 0]
        self._now = 0.0

    def find_excess(self, now: float) -> Excess | None:
        """The limit that is exceeded for the longest time, or None."""
        self._now, most = now, now + self._burst
        requests, reads, writes = until = self._until
        if requests <= most and reads <= most and writes <= most:
            return None
        furthest = max(until)
        seconds = ceil((furthest - most) / MICROSECONDS)
        return Excess(RATES[until.index(furthest)], seconds)

    @property
    def is_full(self) -> bool:
        """Whether the tenant has as many items as it may have."""
        return self.items >= self.limits.items

    def learn_items(self, items: int, now: float) -> None:
        """Take over a count of the items."""
        room_s = (self.limits.items - items) / self.limits.write_units
        seconds = min(RECOUNT_MAX_S, max(RECOUNT_MIN_S, room_s))
        self.items, self.recount_at = items, now + seconds * MICROSECONDS

    def charge(self, requests: int, reads: float, writes: float, size: int) -> None:
        """Add what was consumed, at the time of the last `find_excess`, to the debt."""
        debt, until, now = self._debt, self._until, self._now
        for place, consumed in enumerate((requests, reads, writes)):
            if consumed:
                debt[place] += consumed
                moved = until[place]
                until[place] = (moved if moved > now else now) + consumed * self._costs[place]
                if debt[place] >= self.max_debt[place]:
                    self.is_due = True
        debt[3] += size

    def list_available(self, now: float) -> tuple[int, ...]:
        """What the tenant may consume at once now, of each limit."""
        ahead = [max(0.0, until - now) for until in self._until]
        left = zip(ahead, self._costs, strict=True)
        return tuple(int(max(0.0, self._burst - us) / cost) for us, cost in left)

    @property
    def debt(self) -> Usage:
        """What is not in the record yet."""
        requests, reads, writes, size = self._debt
        return Usage(requests, reads, writes, size, self.refused)

    def take_debt(self) -> tuple[Usage, list[int], list[int]]:
        """Take the debt; by how much it moves the times, and the times of the known record.

        If the addition fails, this process alone remembers the debt.
        """
        debt = self.debt
        moves = [round(rate * cost) for rate, cost in zip(self._debt, self._costs, strict=False)]
        self._debt, self.refused, self.is_due = [0, 0.0, 0.0, 0], 0, False
        return debt, moves, self._known

    def learn(self, record: Image, day: str) -> None:
        """Take over the record of a day. Its times never go back, so the later one is newer."""
        self.day, self._known = day, read_until(record)
        self._until = list(map(max, self._until, self._known))


def read_until(record: Image) -> list[int]:
    """The times of a record."""
    return [int(_read_number(record, name)) for name in _UNTIL]


def build_addition(
    known: Sequence[int], moves: Sequence[int], debt: Usage, now: int, new: Image | None
) -> dict[str, Any]:
    """The update of a record: it adds a debt, on condition that the record is as expected.

    No condition compares a time with its known value, because another process may move it. They
    compare it with ``now``: is it moved from where it is, or from now? ``new``: the attributes of a
    record that is expected to be absent.
    """
    ahead = tuple(new is None and until > now for until in known)
    moved = [
        move if is_ahead else max(until, now) + move
        for is_ahead, until, move in zip(ahead, known, moves, strict=True)
    ]
    values: dict[str, Any] = {}
    for name, number in zip((*_UNTIL, *USAGE_NAMES), (*moved, *debt), strict=True):
        values[f":{name}"] = {"N": str(round(number, 1))}
    if new is None:
        values[":now"] = {"N": str(now)}
    else:
        values |= {f":{name}": value for name, value in new.items()}
    return {**_write_expressions(ahead, tuple(new or ())), "values": values}


@lru_cache(maxsize=16)
def _write_expressions(ahead: tuple[bool, ...], new: tuple[str, ...]) -> dict[str, Any]:
    """The expressions of an update. ``ahead``: the times that are moved from where they are."""
    sets, adds = [*new], [*USAGE_NAMES]
    conditions = ["attribute_not_exists(PK)"] if new else []
    for name, is_ahead in zip(_UNTIL, ahead, strict=True):
        (adds if is_ahead else sets).append(name)
        if not new:
            conditions.append(f"#{name} {'>' if is_ahead else '<='} :now")
    setting = ", ".join(f"#{name} = :{name}" for name in sets)
    adding = ", ".join(f"#{name} :{name}" for name in adds)
    return {
        "update": f"SET {setting} ADD {adding}" if sets else f"ADD {adding}",
        "condition": " AND ".join(conditions),
        "names": {f"#{name}": name for name in sets + adds},  # some are reserved words
    }


def _read_number(record: Image, name: str) -> Any:
    number = from_value(record[name]) if name in record else 0
    return number if isinstance(number, int) else float(number)
