"""A parallel scan: how many segments at once, at what rate, and from where it goes on."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from daicho.errors import ThrottledError, UnansweredError
from daicho.runtime.rate_limit import RateLimiter
from daicho.runtime.retry import RetryBudget
from daicho.storage.attributes import Image
from daicho.storage.parallel_scan import FIRST_PAGE_ITEMS, ParallelScan, ScanRound, ScanSegments
from daicho.storage.requests import ItemPage, Scan
from tests.support.memory_stores import MemoryTable

PAGE = 10


def key(segment: int, place: int) -> Image:
    return {"PK": {"S": f"s{segment}"}, "SK": {"S": f"{place:04}"}}


class Store(MemoryTable):
    """Segments of so many items each, of half a unit; ``fails`` says of each request whether."""

    def __init__(
        self, sizes: list[int], fails: Callable[[int], Exception | None] = lambda _: None
    ) -> None:
        super().__init__()
        self.sizes, self.fails = sizes, fails
        self.asked: list[Scan] = []

    def scan(self, scan: Scan) -> ItemPage:
        self.asked.append(scan)
        if error := self.fails(len(self.asked)):
            raise error
        begin = 0 if scan.start is None else int(scan.start["SK"]["S"]) + 1
        end = min(begin + (scan.limit or PAGE), self.sizes[scan.segment])
        items = tuple(key(scan.segment, place) for place in range(begin, end))
        last = items[-1] if end < self.sizes[scan.segment] else None
        return ItemPage(items, len(items), last, len(items) / 2, len(items))


class Time:
    """A clock that moves when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def retry_budget(self, seconds: float = 1e9) -> RetryBudget:
        return RetryBudget(lambda: seconds - self.now, 0, self.sleep, lambda: 0.5)


def scanning(store: Store, **more: Any) -> ParallelScan[tuple[Image, ...]]:
    return ParallelScan(store, Scan(), lambda page: page.items, **{"most": 1, **more})


def everything(sizes: list[int]) -> list[Image]:
    return [key(n, place) for n, size in enumerate(sizes) for place in range(size)]


def collect(
    scan: ParallelScan[tuple[Image, ...]], segments: ScanSegments, retry_budget: RetryBudget
) -> tuple[list[Image], list[ScanRound[tuple[Image, ...]]]]:
    rounds: list[ScanRound[tuple[Image, ...]]] = []
    scan.run(segments, retry_budget, rounds.append)
    return [item for each in rounds for page in each.results for item in page], rounds


def in_order(items: list[Image]) -> list[Image]:
    return sorted(items, key=lambda item: (item["PK"]["S"], item["SK"]["S"]))


def test_a_lost_answer_is_no_reason_to_slow_down() -> None:
    store = Store([1000] * 9, lambda n: UnansweredError("lost") if n == 3 else None)
    rounds: list[int] = []
    scanning(store, most=9).run(
        ScanSegments.start(9), Time().retry_budget(), lambda each: rounds.append(each.parallelism)
    )
    assert rounds[:3] == [3, 3, 4]


def test_segments_are_added_one_by_one_and_halved_when_throttled() -> None:
    # Every request of the fourth round is throttled: of 2, 3, 4 and then 5 segments.
    store = Store([1000] * 40, lambda n: ThrottledError("slow") if 9 < n <= 14 else None)
    rounds: list[int] = []
    scanning(store, most=30).run(
        ScanSegments.start(40), Time().retry_budget(), lambda each: rounds.append(each.parallelism)
    )
    assert rounds[:7] == [3, 4, 5, 2, 3, 4, 5]


@pytest.mark.parametrize("rate", [1.0, 7.0, 300.0])
@pytest.mark.parametrize("most", [1, 4])
def test_the_rate_is_kept(rate: float, most: int) -> None:
    sizes = [400] * 6
    time, store = Time(), Store(sizes)
    pace = RateLimiter(rate, lambda: time.now, time.sleep)
    found, _ = collect(
        scanning(store, most=most, pace=pace), ScanSegments.start(6), time.retry_budget()
    )
    units = len(found) / 2
    # The last round is waited for by nobody, and the first goes at once.
    assert units / rate - 2 * (FIRST_PAGE_ITEMS * most / rate + 1) <= time.now <= units / rate
    assert store.asked[0].limit == FIRST_PAGE_ITEMS
    # What is left of a segment may be less, never more than a second's share, but for one item.
    assert all((each.limit or 0) / 2 <= max(rate, 0.5) for each in store.asked[most:])


@pytest.mark.parametrize("rate", [None, 7.0, 300.0])
def test_a_page_is_bounded_whatever_the_rate(rate: float | None) -> None:
    sizes = [40] * 3
    time, store = Time(), Store(sizes)
    scan: ParallelScan[tuple[Image, ...]] = ParallelScan(
        store,
        Scan(limit=8),
        lambda page: page.items,
        2,
        RateLimiter(rate, lambda: time.now, time.sleep),
    )
    found, _ = collect(scan, ScanSegments.start(3), time.retry_budget())
    assert in_order(found) == everything(sizes)
    assert all(each.limit is not None and each.limit <= 8 for each in store.asked)


class Killed(BaseException):
    pass


def lived_through(sizes: list[int], chance: random.Random) -> list[Image]:
    """What a scan finds that is killed after some rounds, again and again."""
    kept, found = ScanSegments.start(len(sizes)).to_json(), list[Image]()
    while not (segments := ScanSegments.from_json(kept)).is_finished:
        lives = iter(range(chance.randrange(4)))
        store = Store(sizes, lambda _: ThrottledError("") if chance.random() < 0.2 else None)
        rounds: list[ScanRound[tuple[Image, ...]]] = []

        def done(
            each: ScanRound[tuple[Image, ...]],
            lives: Any = lives,
            rounds: Any = rounds,
            segments: ScanSegments = segments,
        ) -> None:
            nonlocal kept
            if next(lives, None) is None:
                raise Killed
            rounds.append(each)
            kept = segments.to_json()

        with suppress(Killed):
            scanning(store, most=chance.choice([1, 3])).run(segments, Time().retry_budget(), done)
        found += [item for each in rounds for page in each.results for item in page]
    return found


def test_what_was_kept_after_any_round_leads_to_everything_once() -> None:
    chance = random.Random(1)
    for _ in range(50):
        sizes = [chance.randrange(40) for _ in range(chance.randrange(1, 6))]
        assert in_order(lived_through(sizes, chance)) == everything(sizes)
