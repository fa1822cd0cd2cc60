"""Reading and writing the slots of fast counters."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from daicho.errors import ThrottledError
from daicho.storage.attributes import AttributeValue, Image
from daicho.storage.item_key import ItemKey
from daicho.storage.protocols import QueriesItems
from daicho.storage.requests import Query
from daicho.tally import counter_items

ATTEMPTS = 3
"""How many slots a vote tries, each another one. A throttled slot has counted nothing."""


class CounterReader(QueriesItems, Protocol):
    """The operations of the table that reading needs."""


class SendOnceTable(Protocol):
    """A table whose client sends each request once and repeats none."""

    def update(
        self,
        key: ItemKey,
        update: str,
        *,
        names: Mapping[str, str],
        values: Mapping[str, AttributeValue],
    ) -> Image | None:
        """Change an item, or create it."""


def add(
    table: SendOnceTable,
    name: counter_items.CounterName,
    by: tuple[str, ...],
    *,
    slots: int,
    dirty_shards: int,
    now: dt.datetime,
    random: Callable[[], float],
) -> None:
    """Count a vote in a slot drawn at random.

    It reports to the rollup how often slots refused it, where more slots would help: not where
    the limit is the table's or the account's.

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
            if len(tried) == min(ATTEMPTS, slots):
                raise
        else:
            return


def read(
    table: CounterReader, name: counter_items.CounterName, first: int, slots: int
) -> counter_items.CounterReading:
    """Read all slots, strongly consistent, beginning with the number ``first``.

    ``slots`` is how many there are as far as is known. A slot's item may hold a higher number.
    """
    images: list[Image] = []
    done: set[int] = set()
    waiting = [first]
    while waiting:
        for number in waiting:
            query = Query(name.render_slot_key(number), consistent=True)
            images += (item for page in table.query_pages(query) for item in page.items)
            done.add(number)
        slots = max(slots, *(counter_items.read_slot_count(image) for image in images), 0)
        waiting = [number for number in range(slots) if number not in done]
    return counter_items.CounterReading(max(slots, first + 1), tuple(images))


def _draw_slots(slots: int, tried: Sequence[int], random: Callable[[], float]) -> int:
    """A slot that was not tried yet, each with the same chance."""
    number = int(random() * (slots - len(tried)))
    for tried_number in sorted(tried):
        number += number >= tried_number
    return number
