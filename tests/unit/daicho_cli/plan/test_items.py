"""Samples and scans: what is read, how much at most, and how items are counted."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from daicho.errors import ThrottledError, UnavailableError
from daicho.runtime.rate_limit import RateLimiter
from daicho.storage.attributes import Image
from daicho.storage.requests import ItemPage, Scan
from daicho.storage.table import Table
from daicho_cli.aws import TableSize
from daicho_cli.plan.items import (
    MAX_OPERANDS,
    PAGE_BYTES,
    RETRY_S,
    SAMPLE_ITEMS,
    SAMPLE_PAGES,
    SCAN_SEGMENTS,
    EntityItems,
    ItemCount,
    ItemsRead,
    sample_items,
    scan_items,
)

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


def test_a_sample_is_bounded_and_from_random_segments() -> None:
    table = SegmentedTable([*make_items(50_000), *make_items(50_000, "Row")])
    size = TableSize(items=100_000, bytes=1_000 * PAGE_BYTES)
    read = sample_items(table, ["User"], size, draw())
    assert len(table.scans) == read.pages == SAMPLE_PAGES
    segments = [scan.segment for scan in table.scans]
    assert len(set(segments)) == SAMPLE_PAGES
    assert segments != sorted(segments)
    assert {scan.segments for scan in table.scans} == {1_000}
    assert not read.is_whole
    assert read.count_items("User", size) == ItemCount(50_000, "estimated")


def test_more_pages_of_a_segment_are_read_when_all_segments_were() -> None:
    table = SegmentedTable(make_items(900))
    read = sample_items(table, ["User"], TableSize(items=900, bytes=3 * PAGE_BYTES), draw())
    assert (read.is_whole, read.pages) == (True, 9)
    assert sorted(scan.segment for scan in table.scans[:3]) == [0, 1, 2]


def test_a_part_of_a_table_of_unknown_size_gives_a_lower_bound() -> None:
    table = SegmentedTable(make_items(SAMPLE_PAGES * PAGE_ITEMS + 1))
    read = sample_items(table, ["User"], TableSize(), draw())
    most = SAMPLE_PAGES * PAGE_ITEMS
    assert (read.is_whole, read.pages) == (False, SAMPLE_PAGES)
    assert read.count_items("User", TableSize()) == ItemCount(most, "at least")
    assert read.count_items("User", TableSize(items=most - 1)) == ItemCount(most, "at least")
    assert read.count_items("User", TableSize(items=most * 2)) == ItemCount(most * 2, "estimated")


def test_nothing_that_was_read_estimates_nothing() -> None:
    assert ItemsRead({"User": EntityItems()}).count_items("User", TableSize(9)).count == 0


def test_the_images_that_are_kept_are_drawn_from_all() -> None:
    items, draw_one = EntityItems(), draw()
    for image in make_items(10 * SAMPLE_ITEMS):
        items.add(image, draw_one)
    assert (items.count, len(items.images)) == (10 * SAMPLE_ITEMS, SAMPLE_ITEMS)
    numbers = [int(image["PK"]["S"].split("#")[2]) for image in items.images]
    assert len(set(numbers)) == SAMPLE_ITEMS
    halves = sum(number < 5 * SAMPLE_ITEMS for number in numbers)
    assert 420 < halves < 580


def test_a_filter_names_the_entities_as_long_as_it_may() -> None:
    table = SegmentedTable(make_items(3))
    sample_items(table, ["User", "Order"], TableSize(), draw())
    many = [f"Entity{n}" for n in range(MAX_OPERANDS)]
    sample_items(table, [*many, "User"], TableSize(), draw())
    few, all_of_them = table.scans
    assert few.filter == "#type IN (:e0, :e1)"
    assert few.values == {":e0": {"S": "User"}, ":e1": {"S": "Order"}}
    assert (all_of_them.filter, all_of_them.values) == ("attribute_exists(#type)", {})
    assert few.names == all_of_them.names == {"#type": "type"}


def scan(table: SegmentedTable, clock: Iterator[float] | None = None) -> tuple[ItemsRead, int]:
    seen: list[Image] = []
    read = scan_items(
        table,
        ["User"],
        draw(),
        pace=RateLimiter(None),
        on_image=seen.append,
        on_round=lambda scan_round, segments: None,
        clock=(lambda: next(clock)) if clock else (lambda: 0.0),
    )
    return read, len(seen)


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


def test_a_scan_without_any_answer_ends() -> None:
    table = SegmentedTable(make_items(3))
    table.failures = [UnavailableError("no answer")] * 1_000
    with pytest.raises(UnavailableError, match="no answer for 120 s"):
        scan(table, iter([0.0, 1.0, RETRY_S + 2, RETRY_S + 3, RETRY_S + 4, RETRY_S + 5]))
