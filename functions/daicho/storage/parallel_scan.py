"""A parallel scan: the whole table in segments, bounded in rate, and resumable.

The number of segments is fixed for a whole scan, because positions in them depend on it. The number
of segments in work at once adapts: one more after each successful round, half as many after a round
in which DynamoDB throttled, and then a pause. Sources: "Parallel scan" and "Best practices for
querying and scanning data" of the DynamoDB Developer Guide; "Error retries and exponential
backoff" of the same guide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import field, replace
from functools import partial
from typing import Any, Generic, TypeVar

from daicho.errors import ThrottledError, UnavailableError
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.rate_limit import RateLimiter
from daicho.runtime.retry import FIRST_PAUSE_S, MAX_PAUSE_S, RetryBudget
from daicho.storage.attributes import Image
from daicho.storage.requests import ItemPage, Scan
from daicho.storage.table import Table

FIRST_PAGE_ITEMS = 25
"""The items of a page whose units are bounded, before the units of an item are known."""
T = TypeVar("T")
Work = Callable[[ItemPage], T]
"""Processes a page, in parallel with others; after UnavailableError the page is read again."""
SegmentMapper = Callable[[Callable[[int], Any], Iterable[int]], Iterable[Any]]


@dataclass
class ScanSegments:
    """The progress of a scan: the segments that are not at their end, and the start of each."""

    total: int
    starts: dict[int, Image | None] = field(default_factory=dict)

    @classmethod
    def start(cls, total: int) -> ScanSegments:
        """All segments, at their beginning."""
        return cls(total, dict.fromkeys(range(total)))

    @classmethod
    def resume(cls, data: Mapping[str, Any] | None, total: int) -> ScanSegments:
        """Read what `to_json` wrote; without it, ``total`` segments at their beginning."""
        return cls.from_json(data) if data else cls.start(total)

    @property
    def is_finished(self) -> bool:
        """Whether all segments are at their end."""
        return not self.starts

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {"total": self.total, "starts": {str(n): key for n, key in self.starts.items()}}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ScanSegments:
        """Read what `to_json` wrote."""
        return cls(int(data["total"]), {int(n): key for n, key in data["starts"].items()})


@dataclass(frozen=True)
class ScanRound(Generic[T]):
    """The result of one round: ``results`` holds the result of each page, by segment.

    ``scanned`` items were read, for ``units`` read units. ``failed`` pages were refused, or not
    answered, and are read again. ``parallelism``: how many segments the next round works on.
    """

    results: Sequence[T]
    scanned: int
    units: float
    failed: int
    parallelism: int


@dataclass
class ParallelScan(Generic[T]):
    """Reads segment by segment, ``most`` at once.

    ``scan`` is the request for each; its ``limit`` bounds every page. ``pace`` bounds the read
    units a second: pages are then so small that a round takes about a second's share.
    """

    store: Table
    scan: Scan
    work: Work[T]
    most: int = 8
    pace: RateLimiter = field(default_factory=lambda: RateLimiter(None))

    def __post_init__(self) -> None:
        self._at_once = min(2, self.most)
        self._scanned, self._units = 0, 0.0

    def run(
        self,
        segments: ScanSegments,
        retry_budget: RetryBudget,
        on_round: Callable[[ScanRound[T]], None],
    ) -> bool:
        """Continue the scan from ``segments``; True if all are at their end afterwards.

        ``on_round`` receives each round after ``segments`` include it and before another begins. A
        caller that stores both together, and is interrupted, continues from there without a lost
        or repeated page. Any other exception of ``work`` or ``on_round`` ends the scan. It also
        ends, with segments left, when ``retry_budget`` has no time left.

        Raises:
            RefusedError: DynamoDB will never accept the request.
        """
        longest = FIRST_PAUSE_S
        with _make_mapper(self.most) as map_segments:
            while segments.starts and retry_budget.has_time_left:
                scan_round = self._run_round(segments, map_segments)
                on_round(scan_round)
                self.pace.wait(scan_round.units)
                if scan_round.failed:
                    retry_budget.sleep(longest * retry_budget.random())
                    longest = min(2 * longest, MAX_PAUSE_S)
                else:
                    longest = FIRST_PAUSE_S
        return segments.is_finished

    def _run_round(self, segments: ScanSegments, map_segments: SegmentMapper) -> ScanRound[T]:
        # The first segments, not the next ones: a segment that was begun is finished first.
        numbers = sorted(segments.starts)[: self._at_once]
        read_page = partial(self._read_page, segments, self._choose_limit())
        outcomes = dict(zip(numbers, map_segments(read_page, numbers), strict=True))
        failed = [outcome for outcome in outcomes.values() if isinstance(outcome, UnavailableError)]
        if any(isinstance(error, ThrottledError) for error in failed):
            self._at_once = max(1, self._at_once // 2)
            self.pace.slow_down()
        elif not failed:
            self._at_once = min(self.most, self._at_once + 1)
        pages = {
            n: outcome
            for n, outcome in outcomes.items()
            if not isinstance(outcome, UnavailableError)
        }
        for segment, (page, _) in pages.items():
            if page.last is None:
                del segments.starts[segment]
            else:
                segments.starts[segment] = page.last
        scanned = sum(page.scanned for page, _ in pages.values())
        units = sum(page.units for page, _ in pages.values())
        self._scanned, self._units = self._scanned + scanned, self._units + units
        results = [result for _, result in pages.values()]
        return ScanRound(results, scanned, units, len(failed), self._at_once)

    def _read_page(
        self, segments: ScanSegments, limit: int | None, segment: int
    ) -> tuple[ItemPage, T] | UnavailableError:
        """Read and process the next page of a segment; an error that another attempt may avoid."""
        start = segments.starts[segment]
        request = replace(
            self.scan, segment=segment, segments=segments.total, start=start, limit=limit
        )
        try:
            page = self.store.scan(request)
            return page, self.work(page)
        except UnavailableError as error:
            return error

    def _choose_limit(self) -> int | None:
        """How many items a page may read, so that a round takes about a second's units."""
        most = self.scan.limit
        if (rate := self.pace.effective) is None:
            return most
        share = FIRST_PAGE_ITEMS
        if self._units:
            items_a_unit = self._scanned / self._units
            share = max(1, int(rate / self._at_once * items_a_unit))
        return share if most is None else min(share, most)


@contextmanager
def _make_mapper(threads: int) -> Iterator[SegmentMapper]:
    """One after the other in this thread, or by a pool."""
    if threads == 1:
        yield map
        return
    with ThreadPoolExecutor(threads, "scan") as pool:
        yield pool.map
