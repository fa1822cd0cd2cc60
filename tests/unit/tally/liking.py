"""A fast counter over a table in memory: likes of songs by month."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any

from daicho import derive
from daicho.derive import ItemKey
from daicho.images import Image
from daicho.patience import Patience
from daicho.plan import (
    CounterPlan,
    EntityPlan,
    Generation,
    KeyPlan,
    Ledger,
    Part,
)
from daicho.tally import fast, fast_rollup, fast_slots, reading
from daicho.tally.rollup import ranking_place
from tests.delivery.memory import MemoryTable

NOW = dt.datetime(2026, 11, 21, tzinfo=dt.UTC)
LIKES = CounterPlan("likes", 1, (Part("song"),), (Part("month"),), 8)
PLAN = EntityPlan(
    "Like", {"song": "str", "month": "str"}, KeyPlan(("song",), ()), counters=(LIKES,)
)
LEDGER = Ledger({"Like": (Generation(1, PLAN),)})
NAME = fast.CounterName("t", "Like", "likes", 1, ("2026#11",))
AMPLE = Patience(lambda: 60.0, reserve=1)


class Table(MemoryTable):
    """A table that fails as it is told to: ``fails(key)`` raises before the write or after it."""

    def __init__(self) -> None:
        super().__init__()
        self.before: Callable[[ItemKey], None] = lambda key: None
        self.after: Callable[[ItemKey], None] = lambda key: None

    def update(self, key: ItemKey, update: str, **named: Any) -> None:
        self.before(key)
        super().update(key, update, **named)
        self.after(key)


def add(table: Any, by: str, draw: Callable[[], float], *, known: int = 8) -> None:
    fast_slots.add(table, NAME, (by,), slots=known, dirty_shards=4, now=NOW, random=draw)


def roll_up(table: Any, *, seconds: float = 60, ledger: Ledger = LEDGER) -> fast.Reading | None:
    """What the rollup does with the first mark that it finds; None if there is none."""
    marked = [key.pk for key, item in table.items.items() if "GSI2PK" in item]
    if not marked:
        return None
    now = NOW + dt.timedelta(seconds=seconds)
    return fast_rollup.roll_up(table, ledger, marked[-1], lambda: now, ranking_place, AMPLE)


def head(table: MemoryTable) -> Image:
    return table.items[NAME.head]


def total(table: MemoryTable, by: str) -> int:
    tally = derive.tally_partition("t", PLAN, LIKES.tally, NAME.within, (by,))
    return reading.rolled_up_amount(table, tally).items


def votes(table: MemoryTable) -> Mapping[tuple[str, ...], int]:
    return fast_slots.read(table, NAME, 0, fast.slots_said(table.items.get(NAME.head))).votes
