"""What moving a table back reads, writes and takes.

One of 50 items differs: half of those have other values, a quarter is new, and a quarter is gone.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from bench.search.dynoxide_file import Layout, create, insert
from bench.speed.figures import Figure
from bench.verify.size_trial import LEDGER, TABLE, list_blocks
from daicho.archive.reader import ArchiveReader
from daicho.restore.differences import ItemChoice, MoveBackReport
from daicho.restore.move_back import MoveBack, open_difference_file
from daicho.runtime.clock import utc_now
from daicho.runtime.rate_limit import RateLimiter
from daicho.runtime.retry import RetryBudget
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.table import Table, open_table
from tests.support.dynoxide import create_table, serving

COPY, EACH = "daicho-verified-copy", 200
MOST_SECONDS, MILLION = 900.0, 1e6
MOST_READ, MOST_WRITTEN = 3.5, 1.2
"""Read units an item of 4 KB or less with one row, and write units for each item that differs."""
NOTHING: Any = None
"""No item is archived, so nothing reads the stream or the archive."""


def measure_items(items: int) -> Iterator[Figure]:
    """Move a table of so many items back, twice."""
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder, "table.db")
        for name in (TABLE, COPY):
            create(database, name, create_table)
        layouts = [Layout.of(database, name) for name in (TABLE, COPY)]
        for block in list_blocks(items, {}):
            insert(database, [layout.rows(block) for layout in layouts])
        with serving(database) as endpoint, mock.patch.dict(os.environ, AWS_ENDPOINT_URL=endpoint):
            store, copy = (open_table(name).with_metering() for name in (TABLE, COPY))
            changed = change_items(open_table(TABLE), copy, items)
            yield from move_items(store, copy, items, changed)


def change_items(store: Table, copy: Table, items: int) -> int:
    """Change, delete and create items of the live table; returns how many."""
    for number in range(0, items, EACH):
        images = [copy.get(_key(number + place)) or {} for place in range(3)]
        new: Image = {**images[0], "PK": {"S": f"acme#Sale#n{number:07}"}}
        other = [{**image, "version": {"N": "2"}, "state": {"S": "x"}} for image in images[:2]]
        store.batch_write([*other, {**new, "id": {"S": f"n{number:07}"}}], [_key(number + 2)])
    return 4 * len(range(0, items, EACH))


def move_items(store: Table, copy: Table, items: int, changed: int) -> Iterator[Figure]:
    """Move the table back twice, and compare the figures."""
    began = time.monotonic()
    report = run(store, copy)
    seconds, units = time.monotonic() - began, store.budget
    detail = f"{items / seconds:,.0f} items a second"
    million = seconds * MILLION / items
    yield Figure("seconds of a million items", million, "at most", MOST_SECONDS, "s", detail)
    read = (units.read + copy.budget.read) / items
    yield Figure("read units an item", read, "at most", MOST_READ)
    written = units.written / changed
    yield Figure("write units an item that differs", written, "at most", MOST_WRITTEN)
    yield Figure("items written that differ", report.total, "at least", changed)
    again = run(store, copy)
    yield Figure("items that a repeat writes", again.total + again.skips, "at most", 0)


def run(store: Table, copy: Table) -> MoveBackReport:
    """Move the items back."""
    choice, limits = ItemChoice(("Sale",)), (RateLimiter(None), RateLimiter(None))
    budget, archive = RetryBudget.for_seconds(3_600), ArchiveReader(NOTHING)
    tables = (store, copy, NOTHING, archive, NOTHING)
    mover = MoveBack(*tables, LEDGER, utc_now(), choice, "bench", *limits, budget)
    with open_difference_file() as file:
        mover.find_differences(file)
        return mover.apply_changes(file)


def _key(number: int) -> ItemKey:
    return ItemKey(f"acme#Sale#s{number:07}", "-")
