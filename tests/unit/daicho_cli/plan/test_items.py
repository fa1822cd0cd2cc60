"""Samples and scans: what they read and cost, how items are counted, and which exceed limits."""

from __future__ import annotations

import random
from dataclasses import replace

import typer
from typer.testing import CliRunner, Result

from daicho.errors import ThrottledError
from daicho.plan import EntityPlan, KeyPlan, ListingPlan, Part, RetiringPlan, UniquePlan
from daicho.storage.attributes import Image, to_image
from daicho.storage.requests import ItemPage, Scan
from daicho.storage.table import Table
from daicho_cli.aws import TableSize
from daicho_cli.cost.prices import load_prices
from daicho_cli.plan.changes import EntityChange
from daicho_cli.plan.items import (
    MAX_NAMED,
    SAMPLE_ITEMS,
    SAMPLE_PAGES,
    SCAN_SEGMENTS,
    ItemCount,
    ItemsRead,
    LimitCheck,
    ScanOptions,
    confirm_scan,
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


TAGGED = ListingPlan("tagged", 2, (Part("tags", each=True),), ("created_at",))
UNTAGGED = EntityPlan("User", {"id": "str", "tags": "set"}, KeyPlan(("id",), ()))
ROWS = replace(
    UNTAGGED, listings=(TAGGED,), retiring=RetiringPlan(listings=(replace(TAGGED, since=1),))
)


def make_image(tags: int, number: int = 0) -> Image:
    values = {"id": f"{number:026d}", "tags": {f"tag-{n}" for n in range(tags)}}
    key = {"PK": f"acme#User#{number:026d}", "SK": "-", "created_at": "2026-11-21T00:00:00.000000Z"}
    return to_image({**key, **values})


def test_the_first_items_are_named() -> None:
    check = LimitCheck()
    assert check.add(ROWS, make_image(1))
    for number in range(MAX_NAMED + 5):
        assert check.add(ROWS, make_image(300, number))
        assert not check.add(ROWS, make_image(500, number))
    assert check.checked == 1 + 2 * (MAX_NAMED + 5)
    for found in (check.over_together, check.impossible):
        assert found.count == MAX_NAMED + 5
        assert [key.pk for key in found.keys] == [
            f"acme#User#{number:026d}" for number in range(MAX_NAMED)
        ]


def test_items_with_one_unique_value_are_named_both() -> None:
    plan = replace(
        UNTAGGED,
        fields={**UNTAGGED.fields, "name": "str"},
        uniques=(UniquePlan("one", 2, ("name",), (), "case"),),
    )
    check = LimitCheck(now=1)
    for number, name in enumerate(("a", "b", "A", "c", "a")):
        image = {**make_image(1, number), "name": {"S": name}}
        assert check.add(plan, image)
    expired = {**make_image(1, 9), "name": {"S": "a"}, "ttl": {"N": "1"}}
    assert check.add(plan, expired)
    assert check.taken.count == 2
    assert [key.pk[-1] for key in check.taken.keys] == ["0", "2", "4"]
    long = {**make_image(1, 8), "name": {"S": "x" * 2048}}
    check.add(plan, long)
    assert check.impossible.count == 1


LARGE = TableSize(items=1_000_000, bytes=8 * 1024 * 1_000_000)


def run(size: TableSize, options: ScanOptions, given: str = "") -> Result:
    app = typer.Typer()

    @app.command()
    def ask() -> None:
        confirm_scan(size, load_prices(), options)
        typer.echo("read")

    return CliRunner().invoke(app, [], input=given)


def test_the_price_is_printed_before_the_question() -> None:
    result = run(LARGE, ScanOptions(500), "y\n")
    assert "read" in result.stdout
    price, question = result.stderr.splitlines()[:2]
    assert price == (
        "A scan of the whole table: ~1,000,000 read units, ~$0.12, 33 min at 500 units/s"
    )
    assert question.startswith("Read the whole table?")


def test_the_price_of_a_table_that_was_not_measured_is_unknown() -> None:
    result = run(TableSize(), ScanOptions(500, confirmed=True))
    assert "the price is unknown" in result.stderr
