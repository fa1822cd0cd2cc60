"""Reading and writing the slots of fast counters."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence

from daicho.errors import ThrottledError
from daicho.storage.attributes import Image
from daicho.storage.protocols import QueriesItems, UpdatesItems, try_update
from daicho.storage.requests import Query
from daicho.storage.table import Table
from daicho.tally import counter_items
from daicho.tally.counter_head import CounterHead

ATTEMPTS = 3
"""How many slots a vote tries, each another one. A throttled slot has counted nothing."""


def add(
    table: Table,
    name: counter_items.CounterName,
    by: tuple[str, ...],
    *,
    slots: int,
    dirty_shards: int,
    now: dt.datetime,
    random: Callable[[], float],
    open_more: Callable[[int, int], int] = lambda known, _refused: known,
) -> None:
    """Count a vote in a slot drawn at random. The client of ``table`` repeats no request.

    Slots that refuse it are too few, unless the limit is the table's or the account's.
    ``open_more`` opens more: it gets the number of slots and the slot that refused, and returns the
    new number. Where it opens none, the vote reports the refusals to the rollup.

    Raises:
        UnansweredError: nobody knows whether it was counted; it is not sent again.
        ThrottledError: slot after slot refused it, so it is not counted.
        UnavailableError: it was never sent.
    """
    tried: list[int] = []
    throttled = 0
    while True:
        number = _draw_slots(slots, tried, random)
        change = counter_items.add_vote(
            name,
            number,
            by,
            known_slots=slots,
            throttled=throttled,
            dirty_shards=dirty_shards,
            now=now,
        )
        try:
            table.update(change.key, change.update, names=change.names, values=change.values)
        except ThrottledError as error:
            tried.append(number)
            throttled += error.is_of_keys
            if error.is_of_keys and (opened := open_more(slots, number)) > slots:
                slots, throttled = opened, 0
            if len(tried) == min(ATTEMPTS, slots):
                raise
        else:
            return


def open_more(
    table: UpdatesItems,
    name: counter_items.CounterName,
    head: Image | None,
    *,
    known: int,
    refused: int,
    declared: int,
    now: dt.datetime,
) -> int:
    """More slots than a writer knew of, up to the declared number; gives how many there are.

    A block of them, or twice as many. ``head``: as it was just read; others may have opened slots
    already. ``refused``: the slot that refused a vote. One of the older half may be hot because
    other writers do not know of the newer one yet.
    """
    opened = counter_items.read_slot_count(head)
    wanted = min(max(2 * known, counter_items.BLOCK_SLOTS), declared)
    if known < opened or wanted <= known or 2 * refused < known:
        return max(known, opened)
    change = CounterHead(name, head).open_slots(wanted, now)
    return wanted if try_update(table, change) else known


def read(
    table: QueriesItems,
    name: counter_items.CounterName,
    first: int,
    slots: int,
    *,
    most: int | None = None,
) -> counter_items.CounterReading:
    """Read all slots, strongly consistent, beginning with the number ``first``.

    ``slots`` is how many there are as far as is known. A slot's item may hold a higher number. If
    it is above ``most``, the rest is not read.
    """
    images: list[Image] = []
    done: set[int] = set()
    waiting = [first]
    while waiting:
        for number in waiting:
            images += read_slot(table, name, number)
            done.add(number)
        slots = max(slots, *map(counter_items.read_slot_count, images), 0)
        if most is not None and slots > most:
            break
        waiting = [number for number in range(slots) if number not in done]
    return counter_items.CounterReading(max(slots, first + 1), tuple(images))


def read_slot(table: QueriesItems, name: counter_items.CounterName, number: int) -> list[Image]:
    """The items of one slot, strongly consistent."""
    query = Query(name.render_slot_key(number), consistent=True)
    return [item for page in table.query_pages(query) for item in page.items]


def _draw_slots(slots: int, tried: Sequence[int], random: Callable[[], float]) -> int:
    """A slot that was not tried yet, each with the same chance."""
    number = int(random() * (slots - len(tried)))
    for tried_number in sorted(tried):
        number += number >= tried_number
    return number
