"""Fast counters of many slots: blocks are kept, and read again if a slot of them is marked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest

from daicho.errors import UnavailableError
from daicho.storage.attributes import Image
from daicho.storage.protocols import apply_update
from daicho.storage.requests import ItemPage, Query
from daicho.tally import counter_items, counter_rollup
from daicho.tally.counter_head import CounterHead
from daicho.tally.fair_queue import DirtyTally, TallyTurn
from tests.support.fast_counters import NAME, NOW, Table, add, head, roll_up, take_turn, total

SLOTS, BLOCK_SLOTS = 250, 100
"""Three blocks."""


@pytest.fixture(autouse=True)
def block_slots() -> Iterator[None]:
    with mock.patch.object(counter_items, "BLOCK_SLOTS", BLOCK_SLOTS):
        yield


class Noting(Table):
    """A table that notes the slots that are read, and may fail at a put."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[int] = []
        self.fails_at_put = False

    def query_pages(self, query: Query) -> Iterator[ItemPage]:
        if query.partition != NAME.head_key.pk:
            self.read.append(counter_items.parse_slot_number(query.partition))
        return super().query_pages(query)

    def put(self, item: Image, **arguments: Any) -> Image | None:
        if self.fails_at_put:
            raise UnavailableError("the end")
        return super().put(item, **arguments)


def vote(table: Table, slot: int, by: str = "a") -> None:
    add(table, by, lambda: (slot + 0.5) / SLOTS, known=SLOTS)


def finish(table: Noting) -> list[TallyTurn]:
    """All turns that are necessary."""
    turns = []
    while (turn := roll_up(table)) is not None:
        turns.append(turn)
    return turns


@pytest.fixture
def table(block_slots: None) -> Noting:
    """Votes in each block, with their totals."""
    table = Noting()
    for slot in (3, 120, 249):
        vote(table, slot)
    finish(table)
    table.read.clear()
    return table


def test_every_slot_is_read_once_and_a_block_is_a_turn() -> None:
    table = Noting()
    for slot in (3, 120, 249):
        vote(table, slot)
    turns = finish(table)
    assert [turn.is_done for turn in turns] == [False, False, True]
    assert table.read == list(range(SLOTS))
    assert (total(table, "a"), counter_items.read_slot_count(head(table))) == (3, SLOTS)


def test_a_vote_costs_the_reading_of_its_block(table: Noting) -> None:
    vote(table, 120, "b")
    assert [turn.is_done for turn in finish(table)] == [True]
    assert table.read == list(range(100, 200))
    assert (total(table, "a"), total(table, "b")) == (3, 1)


def test_blocks_of_another_size_are_read_again(table: Noting) -> None:
    vote(table, 120)
    with mock.patch.object(counter_items, "BLOCK_SLOTS", 50):
        finish(table)
    assert table.read == list(range(SLOTS))
    assert total(table, "a") == 4


def test_slots_that_writers_open_leave_the_blocks_as_they_are(table: Noting) -> None:
    """Blocks that are all new are read, and no other."""
    change = CounterHead(NAME, head(table)).open_slots(2 * SLOTS, NOW)
    apply_update(table, change)
    add(table, "a", lambda: 0.999, known=2 * SLOTS)
    finish(table)
    assert table.read == list(range(300, 500))
    assert total(table, "a") == 4


def test_a_counter_of_too_many_groups_is_read_whole() -> None:
    table = Noting()
    for slot in (3, 120):
        vote(table, slot)
    with mock.patch.object(counter_rollup, "MAX_BLOCK_BYTES", 10):
        turn = roll_up(table)
    assert turn is not None and turn.is_done
    assert total(table, "a") == 2
    assert NAME.build_block_key(0) not in table.items


def test_a_counter_that_becomes_too_large_for_blocks_has_totals_of_all_groups() -> None:
    """The block that was stored before holds a group whose marks are gone."""
    table = Noting()
    vote(table, 3, "a")
    vote(table, 120, "b")
    tally = DirtyTally(NAME.render_slot_key(3), {3, 120})
    assert not take_turn(table, tally, lambda: NOW).is_done
    with mock.patch.object(counter_rollup, "MAX_BLOCK_BYTES", 10):
        finish(table)
    assert (total(table, "a"), total(table, "b")) == (1, 1)
