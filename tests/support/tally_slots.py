"""Slots of tallies in a table in memory: counting in them, and their sum."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

from daicho.derive.contributions import Amount
from daicho.runtime.retry import RetryBudget
from daicho.storage.attributes import ItemKey
from daicho.storage.protocols import apply_update
from daicho.tally import reader, slots
from tests.support.memory_stores import MemoryTable
from tests.support.sample_ledger import build_tally_key

NOW = dt.datetime(2026, 11, 21, tzinfo=dt.UTC)
COUNT = build_tally_key("Song", "count", 1)
AMPLE = RetryBudget(lambda: 60.0, reserve=1)


def count(
    table: MemoryTable,
    key: ItemKey,
    amount: int,
    number: int = 1,
    now: dt.datetime = NOW,
    *,
    minutes: int = 0,
) -> None:
    """Count the record of a number in a slot, so many minutes after ``now``."""
    seq = f"{number:03d}"
    at = now + dt.timedelta(minutes=minutes)
    change = slots.add_delta(key, Amount(amount, Decimal(amount)), seq, seq, dirty_shards=4, now=at)
    apply_update(table, change)


def live(table: MemoryTable) -> int:
    """The number of songs, summed over the slots."""
    return reader.read_live_amount(table, COUNT).items
