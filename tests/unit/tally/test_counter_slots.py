"""The slots of fast counters: drawn at random, with answers lost and writes throttled."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable

import pytest

from daicho.errors import ThrottledError
from daicho.storage.attributes import Image, ItemKey
from daicho.tally import counter_items, counter_slots
from tests.support.fast_counters import NAME, NOW, Table, add, head, roll_up, total, votes


def test_only_the_first_vote_after_a_rollup_marks_a_slot() -> None:
    table = Table()
    add(table, "a", lambda: 0.0)
    mark = table.items[counter_items.build_slot_key(NAME, 0, ("a",))]["GSI2SK"]
    counter_slots.add(
        table, NAME, ("a",), slots=8, dirty_shards=4,
        now=NOW + dt.timedelta(seconds=5), random=lambda: 0.0,
    )  # fmt: skip
    assert table.items[counter_items.build_slot_key(NAME, 0, ("a",))]["GSI2SK"] == mark
    roll_up(table)
    assert "GSI2PK" not in table.items[counter_items.build_slot_key(NAME, 0, ("a",))]


def test_a_throttled_vote_goes_to_another_slot_and_says_so_there() -> None:
    table = Table()
    tried: list[int] = []

    def throttle(key: ItemKey) -> None:
        tried.append(counter_items.parse_slot_number(key.pk))
        if len(tried) <= 2:
            raise ThrottledError("slow down")

    table.before = throttle
    add(table, "a", lambda: 0.0)
    assert tried == [0, 1, 2]
    found = counter_slots.read(table, NAME, 0, 8)
    assert (found.votes, found.sums.throttled) == ({("a",): 1}, 2)


@pytest.mark.parametrize(
    ("reasons", "told"),
    [
        ([], 2),
        (["TableWriteKeyRangeThroughputExceeded"], 2),
        (["TableWriteMaxOnDemandThroughputExceeded"], 0),
    ],
)
def test_only_a_throttle_that_more_slots_would_help_is_told(reasons: list[str], told: int) -> None:
    table = Table()
    left = 2

    def throttle(_key: ItemKey) -> None:
        nonlocal left
        left -= 1
        if left >= 0:
            raise ThrottledError("slow down", reasons)

    table.before = throttle
    add(table, "a", random.Random(3).random)
    found = counter_slots.read(table, NAME, 0, 8)
    assert (found.votes, found.sums.throttled) == ({("a",): 1}, told)
    table.before = lambda key: None
    roll_up(table)
    assert counter_items.read_slot_count(head(table)) == (16 if told else 8)


def test_without_a_head_the_slots_say_how_many_there_are() -> None:
    table = Table()
    add(table, "a", lambda: 0.99, known=300)
    assert {counter_items.parse_slot_number(key.pk) for key in table.items} == {297}
    assert votes(table) == {}  # who knows of no slot finds none
    while roll_up(table):
        pass
    assert total(table, "a") == 1
    assert counter_items.read_slot_count(head(table)) == 300
    assert votes(table) == {("a",): 1}


def open_over(
    table: Table,
    head_item: Image | None,
    known: int,
    declared: int,
    *,
    refused: int = 7,
    seconds: float = 0,
) -> int:
    return counter_slots.open_more(
        table,
        NAME,
        head_item,
        known=known,
        refused=refused,
        declared=declared,
        now=NOW + dt.timedelta(seconds=seconds),
    )


def open_more(table: Table, declared: int, opened: list[int]) -> Callable[[int, int], int]:
    """What a writer does with slots that refuse votes; notes how many there are then."""

    def open_slots(known: int, refused: int) -> int:
        head_item = table.items.get(NAME.head_key)
        opened.append(open_over(table, head_item, known, declared, refused=refused))
        return opened[-1]

    return open_slots


def test_a_refused_vote_opens_more_slots_up_to_the_declared_number() -> None:
    table, opened, known = Table(), list[int](), 8
    refusals = iter([True, False] * 5)

    def throttle(key: ItemKey) -> None:
        if key != NAME.head_key and next(refusals):
            raise ThrottledError("slow down", ["TableWriteKeyRangeThroughputExceeded"])

    table.before = throttle
    for expected in (40, 80, 160, 240, 240):
        add(table, "a", lambda: 0.99, known=known, open_more=open_more(table, 240, opened))
        known = counter_items.read_slot_count(head(table))
        assert (opened[-1], known) == (expected, expected)
    # A refusal is reported where it opened nothing, so that the rollup opens more.
    assert counter_slots.read(table, NAME, 0, known).sums.throttled == 1
    table.before = lambda key: None
    while roll_up(table):
        pass
    assert counter_items.read_slot_count(head(table)) == 480


def test_slots_that_others_opened_are_found_and_a_rollup_keeps_them() -> None:
    table = Table()
    add(table, "a", lambda: 0.0)

    def open_before_the_head_is_written(key: ItemKey) -> None:
        if key == NAME.head_key:
            table.before = lambda key: None
            assert open_over(table, None, 8, 16) == 16

    table.before = open_before_the_head_is_written
    roll_up(table)
    assert counter_items.read_slot_count(head(table)) == 16
    assert total(table, "a") == 1
    for known, declared, expected in ((8, 40, 16), (16, 16, 16), (16, 8, 16)):
        assert open_over(table, head(table), known, declared, refused=known - 1) == expected
    assert open_over(table, head(table), 16, 40, refused=7) == 16
    assert open_over(table, head(table), 16, 90, refused=8) == 40


def test_a_head_of_a_writer_gives_no_rate_that_is_too_high() -> None:
    """Votes of nearly a minute, and a head of one second: they were not of one second."""
    table = Table()
    key = counter_items.build_slot_key(NAME, 3, ("a",))
    add(table, "a", lambda: 0.4)
    table.items[key] = {**table.items[key], "items": {"N": "300000"}}
    assert open_over(table, None, 8, 10, seconds=58) == 10
    roll_up(table, seconds=59)
    assert counter_items.read_slot_count(head(table)) == 10
