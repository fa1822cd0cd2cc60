"""Rollup of a fast counter: all its slots to totals and ranking, and as many slots as it needs.

Rule 12 as for aggregates, with one revision for all groups of a counter: the head's. A rollup
reads it before the slots and raises it after them, if it is unchanged. Its totals then carry it,
and never replace those of a later rollup. It may be cut off anywhere: marks go last.

One counter may have 2,000 slots of 100 candidates, and while it is voted on its marks come back as
fast as they go. So a rollup takes marks away for some seconds only: the next one finds the rest.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable
from decimal import Decimal
from typing import Protocol

from daicho.derive.contributions import Amount
from daicho.errors import UnavailableError
from daicho.layout import item_keys
from daicho.plan import AggregatePlan, EntityPlan, Ledger
from daicho.runtime.retry import RetryBudget
from daicho.storage.attributes import get_integer
from daicho.storage.item_key import ItemKey
from daicho.storage.protocols import GetsItems, QueriesItems, UpdatesItems, try_update
from daicho.tally import counter_items, counter_slots
from daicho.tally.slots import TallyName

_log = logging.getLogger(__name__)
MAX_STARTS = 3
"""How often a counter is started over when another rollup is at it; then that one has done it."""
CLEANING_S = 5.0
"""The seconds of a run for one counter's marks: others wait behind it."""

RankingPlacer = Callable[[TallyName, EntityPlan, AggregatePlan, Amount], ItemKey | None]


class CounterRollupTable(GetsItems, QueriesItems, UpdatesItems, Protocol):
    """The operations of the table that the rollup needs."""


def roll_up_counter(
    store: CounterRollupTable,
    ledger: Ledger,
    partition: str,
    now: Callable[[], dt.datetime],
    place: RankingPlacer,
    retry_budget: RetryBudget,
) -> counter_items.CounterReading:
    """Bring the totals of a counter up to its slots; gives the slots as read.

    ``partition`` is that of a slot which is marked; ``place`` gives a total's place.

    Raises:
        StoreError: what is not done stays marked.
        UnknownEntityError: no generation declares the counter; it stays marked.
    """
    name = counter_items.CounterName.parse(partition)
    plan, counter = ledger.find_counter(name.entity, name.counter, name.since)
    marked = counter_items.parse_slot_number(partition)
    for _ in range(MAX_STARTS):
        head = store.get(name.head_key, consistent=True)
        began = now()  # behind the head: of the rollup that wrote it this is the time since then
        reading = counter_slots.read(store, name, marked, counter_items.read_slot_count(head))
        change = counter_items.write_head(name, head, reading, began)
        if not try_update(store, change):
            continue
        if (
            number := counter_items.read_slot_count({"slots": change.values[":slots"]})
        ) > reading.slots:
            _log.warning("slots ran hot", extra={"counter": name.head_key.pk, "slots": number})
        turn = get_integer(change.values, ":new") or 0
        votes = reading.votes
        for by in dict.fromkeys(map(counter_items.parse_group, reading.dirty)):
            if not retry_budget.has_time_left:
                raise UnavailableError(f"no time was left for all totals of {name.head_key.pk}")
            tally_name = TallyName(
                name.tenant, name.entity, name.counter, name.since, (*name.within, *by)
            )
            tally = item_keys.render_tally_partition(
                name.tenant, plan, counter.tally, name.within, by
            )
            amount = Amount(votes[by], Decimal(votes[by]))
            ranked = place(tally_name, plan, counter.tally, amount)
            try_update(store, counter_items.write_total(tally, votes[by], turn, ranked))
        until = max(retry_budget.reserve, retry_budget.remaining() - CLEANING_S)
        for slot in reading.dirty:
            if retry_budget.remaining() <= until:
                break
            try_update(store, counter_items.clear_dirty_mark(slot))
        return reading
    return counter_items.CounterReading(0, ())
