"""What one process knows of a tenant's quota, and what it has let through since. Pure.

Each limit is a rate, and the record of a tenant has one number for it: the theoretical time
``until`` which the tenant has consumed (the generic cell rate algorithm). Consumption moves it by
its share of a second, from now or from where it is, whichever is later. The tenant is over the
limit while ``until`` is more than ``burst_seconds`` ahead. Times are microseconds since 1970.

A process knows the record as it was when it last added to it. It decides by that and by its own
debt: what it has let through since. `docs/explanation/quotas.md` has the error of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.tenant_limits import RATES, Limits
from daicho.storage.attributes import Image, from_value

MICROSECONDS = 1_000_000
MAX_DEBT = 20
"""Requests that a process lets through before it adds them to the record. An addition takes one
write unit, and one more if the record is not as expected: 0.1 for each of these requests."""
DEBT_SHARE = 5
"""A debt of this part of the burst is added too, after however few requests."""


@dataclass(frozen=True)
class Usage:
    """What a tenant consumed. ``bytes``: of the bodies of requests and of answers.

    ``write_units`` contains an estimate of what derives from the writes. ``refused``: the requests
    that were answered 429; they are not in ``requests``.
    """

    requests: int = 0
    read_units: float = 0.0
    write_units: float = 0.0
    bytes: int = 0
    refused: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.requests + other.requests,
            self.read_units + other.read_units,
            self.write_units + other.write_units,
            self.bytes + other.bytes,
            self.refused + other.refused,
        )

    @property
    def rates(self) -> tuple[float, float, float]:
        """What is limited, in the order of `RATES`."""
        return self.requests, self.read_units, self.write_units

    @classmethod
    def from_image(cls, record: Image) -> Usage:
        """What a record contains."""
        return cls(**{name: _read_number(record, name) for name in USAGE_NAMES})


USAGE_NAMES = (*RATES, "bytes", "refused")
_UNTIL = tuple(f"until_{name}" for name in RATES)
"""The attributes of a record that have the time of a limit."""


@dataclass(frozen=True)
class Excess:
    """The limit that a tenant exceeds, and in how many seconds it will not any more."""

    limit: str
    seconds: int


class Account:
    """A tenant in one process. It is not safe to share by threads: see `Quotas`.

    ``day``: that of the record which is known; empty if none is.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits, self.debt, self.day, self.is_sending = limits, Usage(), "", False
        self._rates = (limits.requests, limits.read_units, limits.write_units)
        self._until, self._burst = [0, 0, 0], limits.burst_seconds * MICROSECONDS
        most = [rate * limits.burst_seconds / DEBT_SHARE for rate in self._rates]
        self._max_debt = (min(most[0], MAX_DEBT), most[1], most[2])

    def find_excess(self, now: int) -> Excess | None:
        """The limit that is exceeded for the longest time, or None."""
        ahead = self._measure(now)
        furthest = max(ahead)
        if furthest <= self._burst:
            return None
        seconds = ceil((furthest - self._burst) / MICROSECONDS)
        return Excess(RATES[ahead.index(furthest)], seconds)

    def list_available(self, now: int) -> tuple[int, ...]:
        """What the tenant may consume at once now, of each limit."""
        left = [max(0, self._burst - ahead) for ahead in self._measure(now)]
        return tuple(us * rate // MICROSECONDS for us, rate in zip(left, self._rates, strict=True))

    @property
    def is_debt_large(self) -> bool:
        """Whether the debt is worth a request that adds it to the record."""
        requests, reads, writes = self._max_debt
        debt = self.debt
        return debt.requests >= requests or debt.read_units >= reads or debt.write_units >= writes

    def take_debt(self, now: int) -> tuple[Usage, list[int]]:
        """Take the debt, to add it to the record; and the times of the record as it is known.

        If the addition fails, this process alone remembers the debt.
        """
        debt, known = self.debt, self._until
        self._until = [now + ahead for ahead in self._measure(now)]
        self.debt = Usage()
        return debt, known

    def learn(self, record: Image, day: str) -> None:
        """Take over the record of a day. Its times never go back, so the later one is newer."""
        self.day = day
        self._until = list(map(max, self._until, read_until(record)))

    def charge(self, debt: Usage) -> list[int]:
        """By how much a debt moves the time of each limit."""
        parts = zip(debt.rates, self._rates, strict=True)
        return [round(consumed * MICROSECONDS / rate) for consumed, rate in parts]

    def _measure(self, now: int) -> list[int]:
        """How far ahead the tenant is, by each limit."""
        moves = self.charge(self.debt)
        return [max(0, until - now) + move for until, move in zip(self._until, moves, strict=True)]


def read_until(record: Image) -> list[int]:
    """The times of a record."""
    return [int(_read_number(record, name)) for name in _UNTIL]


def build_addition(
    known: Sequence[int], charges: Sequence[int], debt: Usage, now: int, new: Image | None
) -> dict[str, Any]:
    """The update of a record: it adds a debt, on condition that the record is as expected.

    No condition compares a time with its known value, because another process may move it. They
    compare it with ``now``: is it moved from where it is, or from now? ``new``: the attributes of a
    record that is expected to be absent.
    """
    sets, adds = dict(new or {}), dict[str, Any]()
    conditions = ["attribute_not_exists(PK)"] if new else []
    for name, until, charge in zip(_UNTIL, known, charges, strict=True):
        if new or until <= now:
            sets[name] = {"N": str(max(until, now) + charge)}
            conditions += [] if new else [f"#{name} <= :now"]
        else:
            adds[name] = {"N": str(charge)}
            conditions.append(f"#{name} > :now")
    adds |= {name: {"N": str(round(getattr(debt, name), 1))} for name in USAGE_NAMES}
    setting = "SET " + ", ".join(f"#{name} = :{name}" for name in sets) + " " if sets else ""
    values = {f":{name}": value for name, value in (sets | adds).items()}
    return {
        "update": setting + "ADD " + ", ".join(f"#{name} :{name}" for name in adds),
        "condition": " AND ".join(conditions),
        "names": {f"#{name}": name for name in sets | adds},
        "values": values if new else {**values, ":now": {"N": str(now)}},
    }


def _read_number(record: Image, name: str) -> Any:
    number = from_value(record[name]) if name in record else 0
    return number if isinstance(number, int) else float(number)
