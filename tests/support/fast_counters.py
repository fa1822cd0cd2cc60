"""A fast counter over a table in memory: likes of songs by month."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any

from daicho.layout import item_keys
from daicho.plan import CounterPlan, EntityPlan, Generation, KeyPlan, Ledger, Part
from daicho.runtime.retry import RetryBudget
from daicho.storage.attributes import Image, ItemKey
from daicho.tally import counter_items, counter_rollup, counter_slots, reader
from daicho.tally.dirty_marks import DirtyTallies
from daicho.tally.fair_queue import DirtyTally, TallyTurn
from daicho.tally.limited_table import LimitedTable
from tests.support.memory_stores import MemoryTable

NOW = dt.datetime(2026, 11, 21, tzinfo=dt.UTC)
LIKES = CounterPlan("likes", 1, (Part("song"),), (Part("month"),), 8)
PLAN = EntityPlan(
    "Like", {"song": "str", "month": "str"}, KeyPlan(("song",), ()), counters=(LIKES,)
)
LEDGER = Ledger({"Like": (Generation(1, PLAN),)})
NAME = counter_items.CounterName("t", "Like", "likes", 1, ("2026#11",))
AMPLE = RetryBudget(lambda: 60.0, reserve=1)


class Table(MemoryTable):
    """A table that fails as it is told to: ``fails(key)`` raises before the write."""

    def __init__(self) -> None:
        super().__init__()
        self.before: Callable[[ItemKey], None] = lambda key: None

    def update(self, key: ItemKey, update: str, **named: Any) -> None:
        self.before(key)
        super().update(key, update, **named)


def add(
    table: Any,
    by: str,
    draw: Callable[[], float],
    *,
    known: int = 8,
    open_more: Callable[[int, int], int] = lambda known, _refused: known,
) -> None:
    counter_slots.add(
        table,
        NAME,
        (by,),
        slots=known,
        dirty_shards=4,
        now=NOW,
        random=draw,
        open_more=open_more,
    )


def roll_up(
    table: Any, *, seconds: float = 60, ledger: Ledger = LEDGER, retry_budget: RetryBudget = AMPLE
) -> TallyTurn | None:
    """A turn of the rollup with all marks that there are; None if there is none."""
    dirty = DirtyTallies()
    for item in [item for item in table.items.values() if "GSI2PK" in item]:
        dirty.add(item)
    if not dirty.tallies:
        return None
    (tally,) = dirty.tallies.values()
    now = NOW + dt.timedelta(seconds=seconds)
    return take_turn(table, tally, lambda: now, ledger, retry_budget)


def take_turn(
    table: Any,
    tally: DirtyTally,
    now: Callable[[], dt.datetime],
    ledger: Ledger = LEDGER,
    retry_budget: RetryBudget = AMPLE,
) -> TallyTurn:
    """One turn of a counter."""
    limited = LimitedTable(table, retry_budget)
    return counter_rollup.roll_up_counter(limited, ledger, tally, now, retry_budget, dirty_shards=4)


def head(table: MemoryTable) -> Image:
    return table.items[NAME.head_key]


def total(table: MemoryTable, by: str) -> int:
    tally = item_keys.render_tally_partition("t", PLAN, LIKES.tally, NAME.within, (by,))
    return reader.read_rolled_up_amount(table, tally).items


def votes(table: MemoryTable) -> Mapping[tuple[str, ...], int]:
    return counter_slots.read(
        table, NAME, 0, counter_items.read_slot_count(table.items.get(NAME.head_key))
    ).votes
