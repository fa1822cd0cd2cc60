"""The kernel over lists in memory: pairs that seldom meet, budgets, and walks that end.

Lists are sets of numbers, the newest highest. Costs are DynamoDB's: half a unit for 4 KB of rows,
and for each item, twice as much where the read is consistent.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daicho.search.pager import REQUESTS, UNITS, FetchedItems, ReadBudget, SearchPage, SearchPager
from daicho.search.posting_lists import (
    END,
    Block,
    Bound,
    Intersection,
    PendingRead,
    PostingCursor,
    PostingList,
    PostingRow,
    SparsestOf,
    Union,
)

ROWS_A_UNIT = 54
LIMIT = 100


@dataclass
class Lists:
    """Reads lists of numbers; what stands is what ``holds`` says."""

    lists: dict[str, list[int]]
    holds: Callable[[int], bool]
    rests: bool = False
    requests: int = 0
    index_units: float = 0.0
    item_units: float = 0.0
    read: dict[str, int] = field(default_factory=dict)

    def read_blocks(self, requests: Sequence[PendingRead]) -> Sequence[Block]:
        return [self._block(each) for each in requests]

    def fetch(self, keys: Sequence[Any], *, consistent: bool) -> FetchedItems[Any, Any]:
        self.requests += 1
        self.item_units += len(keys) * (1.0 if consistent else 0.5)
        return FetchedItems({key: key for key in keys})

    def matches(self, item: int, order: str) -> bool:
        assert order == ordered(item)
        return self.holds(item)

    def estimate_units(self, item: int | None, *, consistent: bool) -> float:
        return 1.0 if consistent else 0.5

    def _block(self, wanted: PendingRead) -> Block:
        numbers = self.lists[wanted.list]  # falling
        start = 0
        start = wanted.more if wanted.more is not None else first_admitted(numbers, wanted.bound)
        assert wanted.rests == self.rests
        rows = [
            PostingRow(ordered(n), n, str(n)[-1] if self.rests else "")
            for n in numbers[start : start + wanted.limit]
        ]
        end = start + len(rows)
        units = max(0.5, -(-len(rows) * 2 // ROWS_A_UNIT) / 2)
        self.requests += 1
        self.index_units += units
        self.read[wanted.list] = self.read.get(wanted.list, 0) + 1
        return Block(rows, end if end < len(numbers) else None, units)


def ordered(number: int) -> str:
    return f"{number:09d}"


def first_admitted(numbers: list[int], bound: Bound) -> int:
    low, high = 0, len(numbers)
    while low < high:
        middle = (low + high) // 2
        if bound.admits(ordered(numbers[middle])):
            high = middle
        else:
            low = middle + 1
    return low


@dataclass
class Walker:
    """Walks a stream to its end; what each page took is checked."""

    lists: Lists
    make: Callable[[], PostingCursor]
    limit: int = LIMIT
    found: list[int] = field(default_factory=list)
    pages: int = 0
    most_units: float = 0.0

    def walk(self, most_pages: int = 5_000) -> list[int]:
        bound: Bound | None = None
        while bound != END:
            page = self.page(bound)
            assert bound is None or page.bound < bound, "a page must get further"
            bound = page.bound
            assert self.pages <= most_pages
        return self.found

    def page(self, bound: Bound | None) -> SearchPage[Any]:
        stream, lists = self.make(), self.lists
        lists.index_units = lists.item_units = 0.0
        lists.requests = 0
        if bound is not None:
            stream.skip_to(bound)
        page = SearchPager(
            lists, stream, self.limit, budget=ReadBudget(clock=lambda: 0.0)
        ).read_page()
        self.found += page.items
        self.pages += 1
        # A row that is shown takes one unit at most, where the first read was consistent.
        beyond = lists.index_units + lists.item_units - len(page.items)
        self.most_units = max(self.most_units, beyond)
        assert beyond <= UNITS
        assert lists.requests <= REQUESTS + 4
        return page


def falling(numbers: set[int]) -> list[int]:
    return sorted(numbers, reverse=True)


def pair_of(one: set[int], other: set[int]) -> Walker:
    lists = Lists({"one": falling(one), "other": falling(other)}, (one & other).__contains__)
    return Walker(lists, lambda: Intersection([PostingList("one"), PostingList("other")]))


SIZE = 20_000
PAIRS: dict[str, tuple[set[int], set[int]]] = {
    "alternating": (set(range(0, SIZE, 2)), set(range(1, SIZE, 2))),
    "halves": (set(range(SIZE // 2)), set(range(SIZE // 2, SIZE))),
    "blocks": (
        {n for n in range(SIZE) if n % 200 < 100},
        {n for n in range(SIZE) if n % 200 >= 100},
    ),
    "meet once, at the end": (set(range(0, SIZE, 2)), {0, *range(1, SIZE, 2)}),
    "meet seldom": (
        {n for n in range(SIZE) if n % 2 == 0 or n % 997 == 0},
        {n for n in range(SIZE) if n % 2 == 1 or n % 997 == 0},
    ),
    "one rare": ({n for n in range(SIZE) if n % 500 == 7}, set(range(0, SIZE, 3))),
    "the same": (set(range(0, SIZE, 3)), set(range(0, SIZE, 3))),
    "one empty": (set(), set(range(SIZE))),
}


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("turned", [False, True])
def test_pairs_of_words_stay_within_the_budget_and_end(pair: str, turned: bool) -> None:
    one, other = reversed(PAIRS[pair]) if turned else PAIRS[pair]
    assert pair_of(one, other).walk() == falling(one & other)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.02, 0.5])
def test_rows_that_only_the_items_tell_stay_within_the_budget(share: float) -> None:
    draw = random.Random(share)
    everything = set(range(5_000))
    some = {n for n in everything if draw.random() < share}
    lists = Lists({"all": falling(everything)}, some.__contains__)
    for certain in (False, True):  # True: postings that all are out of date
        walker = Walker(lists, lambda certain=certain: PostingList("all", certain=certain))  # type: ignore[misc]
        assert walker.walk() == falling(some)


def test_a_page_of_one_list_takes_one_request_for_it() -> None:
    everything = set(range(1_000))
    walker = Walker(
        Lists({"all": falling(everything)}, everything.__contains__),
        lambda: PostingList("all", first=110),
    )
    walker.page(None)
    assert (walker.lists.requests, walker.lists.index_units) == (2, 2.5)


def test_what_stands_behind_the_gram_saves_reading_items() -> None:
    numbers = list(range(2_000))
    lists = Lists({"all": falling(set(numbers))}, lambda number: number % 10 == 3, rests=True)
    walker = Walker(lists, lambda: PostingList("all", "3", first=110))
    assert walker.page(None).items == falling({n for n in numbers if n % 10 == 3})[:100]
    assert lists.item_units == 50
    assert lists.index_units <= 27


def test_a_list_far_denser_than_the_other_is_left_alone() -> None:
    rare, dense = {n for n in range(60_000) if n % 400 == 0}, set(range(60_000))
    walker = pair_of(rare, dense)
    assert walker.page(None).items == falling(rare)[:100]
    assert walker.lists.read["other"] <= 3
    assert walker.lists.requests <= 10


def test_a_list_is_entered_where_the_other_stands() -> None:
    walker = pair_of(set(range(10_000)), set(range(10_000, 20_000)))
    assert walker.walk() == []
    assert (walker.pages, walker.lists.index_units <= 3) == (1, True)


def test_lists_alike_are_read_in_large_blocks() -> None:
    draw = random.Random(5)
    one, other = ({n for n in range(60_000) if draw.random() < 0.3} for _ in range(2))
    walker = pair_of(one, other)
    assert walker.page(None).items == falling(one & other)[:100]
    assert walker.lists.requests <= 16
    assert walker.lists.index_units <= 30


def test_of_lists_that_hold_the_same_the_sparsest_is_read_on() -> None:
    wanted = {n for n in range(60_000) if n % 500 == 7}
    lists = {"dense": set(range(60_000)), "rare": {n for n in range(60_000) if n % 250 == 7}}
    for names in (("dense", "rare"), ("rare", "dense")):
        walker = Walker(
            Lists({name: falling(rows) for name, rows in lists.items()}, wanted.__contains__),
            lambda names=names: SparsestOf([PostingList(name) for name in names]),  # type: ignore[misc]
        )
        assert walker.walk() == falling(wanted)
        assert walker.lists.read["dense"] == walker.pages


@given(
    st.lists(st.sets(st.integers(0, 300)), min_size=1, max_size=4),
    st.sampled_from(["any", "all", "any of alls", "all of anys", "rarest", "any of rarest"]),
    st.integers(1, 7),
)
def test_every_combination_is_what_sets_make(numbers: list[set[int]], how: str, limit: int) -> None:
    names = [f"list{place}" for place in range(len(numbers))]
    one, other = set.union(*numbers[::2]), set.union(*(numbers[1::2] or [set()]))
    wanted = {
        "any": set.union(*numbers),
        "all": set.intersection(*numbers),
        "any of alls": numbers[0] | set.intersection(*numbers),
        "all of anys": one & other,
        "rarest": set.intersection(*numbers),
        "any of rarest": numbers[0] | set.intersection(*numbers),
    }[how]

    def make() -> PostingCursor:
        lists = [PostingList(name, first=2) for name in names]
        more: list[PostingCursor] = [PostingList(name, first=3) for name in names]
        match how:
            case "any":
                return Union(lists)
            case "all":
                return Intersection(list(lists))
            case "any of alls":
                return Union([lists[0], Intersection(more)])
            case "rarest":  # each holds all that is wanted, and more: the items say what is
                return SparsestOf(lists)
            case "any of rarest":
                return Union([lists[0], SparsestOf(more)])
            case _:
                return Intersection([Union(lists[::2]), Union(lists[1::2])])

    lists = Lists(dict(zip(names, map(falling, numbers), strict=True)), wanted.__contains__)
    assert Walker(lists, make, limit).walk() == falling(wanted)
