"""Samples and scans: what is read, how much at most, and how items are counted."""

from __future__ import annotations

import random

from daicho.errors import ThrottledError
from daicho.storage.attributes import Image
from daicho.storage.requests import ItemPage, Scan
from daicho.storage.table import Table
from daicho_cli.aws import TableSize
from daicho_cli.plan.changes import EntityChange
from daicho_cli.plan.items import (
    SAMPLE_ITEMS,
    SAMPLE_PAGES,
    SCAN_SEGMENTS,
    ItemCount,
    ItemsRead,
    ScanOptions,
    sample_items,
    scan_entities,
)
from tests.unit.daicho_cli.plan.plans import PLAIN

PAGE_ITEMS = 100


def make_items(count: int, entity: str = "User") -> list[Image]:
    return [
        {"PK": {"S": f"t#{entity}#{n}"}, "SK": {"S": "-"}, "type": {"S": entity}}
        for n in range(count)
    ]


class SegmentedTable(Table):
    """A table whose items are spread over segments in turn, and read in pages of 100."""

    def __init__(self, items: list[Image]) -> None:
        self.items = items
        self.scans: list[Scan] = []
        self.failures: list[Exception] = []

    def scan(self, scan: Scan) -> ItemPage:
        self.scans.append(scan)
        if self.failures:
            raise self.failures.pop()
        own = self.items[scan.segment :: scan.segments]
        begin = int(scan.start["place"]["N"]) if scan.start else 0
        end = begin + PAGE_ITEMS
        page = own[begin:end]
        wanted = {value["S"] for value in scan.values.values()}
        kept = tuple(item for item in page if not wanted or item["type"]["S"] in wanted)
        last: Image | None = {"place": {"N": str(end)}} if end < len(own) else None
        return ItemPage(kept, len(kept), last, units=len(page) / 2, scanned=len(page))


def draw() -> random.Random:
    return random.Random(17)


def test_a_small_table_is_read_whole() -> None:
    table = SegmentedTable([*make_items(250), *make_items(50, "Row")])
    read = sample_items(table, ["User"], TableSize(), draw())
    assert (read.is_whole, read.pages, read.scanned, read.units) == (True, 3, 300, 150.0)
    assert read.count_items("User", TableSize()) == ItemCount(250, "counted")
    assert len(read.entities["User"].images) == 250


def test_a_part_of_a_table_of_unknown_size_gives_a_lower_bound() -> None:
    table = SegmentedTable(make_items(SAMPLE_PAGES * PAGE_ITEMS + 1))
    read = sample_items(table, ["User"], TableSize(), draw())
    most = SAMPLE_PAGES * PAGE_ITEMS
    assert (read.is_whole, read.pages) == (False, SAMPLE_PAGES)
    assert read.count_items("User", TableSize()) == ItemCount(most, "at least")
    assert read.count_items("User", TableSize(items=most - 1)) == ItemCount(most, "at least")
    assert read.count_items("User", TableSize(items=most * 2)) == ItemCount(most * 2, "estimated")


def scan(table: SegmentedTable) -> tuple[ItemsRead, int]:
    change = EntityChange("User", 1, 2, PLAIN)
    read, checks = scan_entities(table, [change], ScanOptions(1e9, confirmed=True))
    return read, checks["User"].checked


def test_a_scan_reads_all() -> None:
    table = SegmentedTable([*make_items(10_000), *make_items(500, "Row")])
    read, seen = scan(table)
    assert (read.is_whole, read.scanned, seen) == (True, 10_500, 10_000)
    assert read.count_items("User", TableSize()) == ItemCount(10_000, "counted")
    assert len(read.entities["User"].images) == SAMPLE_ITEMS
    assert {each.segments for each in table.scans} == {SCAN_SEGMENTS}


def test_a_page_that_was_throttled_is_read_again() -> None:
    table = SegmentedTable(make_items(300))
    table.failures = [ThrottledError("slower")] * 3
    read, seen = scan(table)
    assert (read.is_whole, seen) == (True, 300)
