"""A parallel scan: the whole table in segments, bounded in rate, and resumable.

The segments are a fixed number for the whole of a scan, or positions in them would mean nothing;
how many are worked on at once adapts: one more after each round that went well, half as many after
one in which DynamoDB throttled, and then a pause. Sources: "Parallel scan" and "Best practices for
querying and scanning data" of the DynamoDB Developer Guide; "Exponential backoff" (seed 002).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from daicho.errors import ThrottledError, UnavailableError
from daicho.runtime.rate_limit import RateLimiter
from daicho.runtime.retry import FIRST_PAUSE_S, MAX_PAUSE_S, RetryBudget
from daicho.storage.attributes import Image
from daicho.storage.protocols import ScansItems
from daicho.storage.requests import ItemPage, Scan

FIRST_PAGE_ITEMS = 25
"""Of a page whose units are bounded, before it is known what an item takes."""
T = TypeVar("T")
Work = Callable[[ItemPage], T]
"""What is made of a page, beside others; if it raises UnavailableError, the page comes again."""
SegmentMapper = Callable[[Callable[[int], Any], Iterable[int]], Iterable[Any]]


@dataclass
class ScanSegments:
    """How far a scan has come: the segments that are not at their end, and where each goes on."""

    total: int
    starts: dict[int, Image | None] = field(default_factory=dict)

    @classmethod
    def start(cls, total: int) -> ScanSegments:
        """All segments, at their beginning."""
        return cls(total, dict.fromkeys(range(total)))

    @property
    def finished(self) -> bool:
        """Whether all are at their end."""
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
    """What came of one round: what was made of each page, in order of segment.

    ``scanned`` items were looked at, for ``units`` read units; ``failed`` pages were turned away,
    or not answered, and come again; ``at_once``: how many segments the next round works on.
    """

    made: Sequence[T]
    scanned: int
    units: float
    failed: int
    at_once: int


@dataclass
class ParallelScan(Generic[T]):
    """Reads segment by segment, ``most`` at once.

    ``scan`` says what is asked of each; its ``limit`` bounds every page. ``pace`` bounds the read
    units a second: pages are then so small that a round takes about a second's share.
    """

    store: ScansItems
    scan: Scan
    work: Work[T]
    most: int = 8
    pace: RateLimiter = field(default_factory=lambda: RateLimiter(None))

    def __post_init__(self) -> None:
        self._at_once = min(2, self.most)
        self._scanned, self._units = 0, 0.0

    def run(
        self, segments: ScanSegments, patience: RetryBudget, done: Callable[[ScanRound[T]], None]
    ) -> bool:
        """Scan on from where ``segments`` are; True if they are at their end then.

        ``done`` hears of each round when ``segments`` are behind it and nothing else is begun: who
        keeps both together, and then is cut off, goes on from there without a page lost or doubled.
        Whatever else ``work`` or ``done`` raises ends it; and it ends, with some left, when there
        is no patience any more.

        Raises:
            RefusedError: DynamoDB will never do it.
        """
        longest = FIRST_PAUSE_S
        with _make_mapper(self.most) as each:
            while segments.starts and patience.has_time_left:
                found = self._run_round(segments, each)
                done(found)
                self.pace.wait(found.units)
                if found.failed:
                    patience.sleep(longest * patience.random())
                    longest = min(2 * longest, MAX_PAUSE_S)
                else:
                    longest = FIRST_PAUSE_S
        return segments.finished

    def _run_round(self, segments: ScanSegments, map_segments: SegmentMapper) -> ScanRound[T]:
        # The first ones, not the next ones: what was begun comes to its end.
        chosen = sorted(segments.starts)[: self._at_once]
        limit = self._choose_limit()

        def attempt(segment: int) -> tuple[ItemPage, T] | UnavailableError:
            start = segments.starts[segment]
            asked = replace(
                self.scan, segment=segment, segments=segments.total, start=start, limit=limit
            )
            try:
                page = self.store.scan(asked)
                return page, self.work(page)
            except UnavailableError as error:
                return error

        outcomes = dict(zip(chosen, map_segments(attempt, chosen), strict=True))
        failed = [each for each in outcomes.values() if isinstance(each, UnavailableError)]
        if any(isinstance(each, ThrottledError) for each in failed):
            self._at_once = max(1, self._at_once // 2)
        elif not failed:
            self._at_once = min(self.most, self._at_once + 1)
        pages = {n: each for n, each in outcomes.items() if not isinstance(each, UnavailableError)}
        for segment, (page, _) in pages.items():
            if page.last is None:
                del segments.starts[segment]
            else:
                segments.starts[segment] = page.last
        scanned = sum(page.scanned for page, _ in pages.values())
        units = sum(page.units for page, _ in pages.values())
        self._scanned, self._units = self._scanned + scanned, self._units + units
        made = [each for _, each in pages.values()]
        return ScanRound(made, scanned, units, len(failed), self._at_once)

    def _choose_limit(self) -> int | None:
        """How many items a page may look at, so that a round takes about a second's units."""
        most = self.scan.limit
        if self.pace.rate is None:
            return most
        share = FIRST_PAGE_ITEMS
        if self._units:
            items_a_unit = self._scanned / self._units
            share = max(1, int(self.pace.rate / self._at_once * items_a_unit))
        return share if most is None else min(share, most)


@contextmanager
def _make_mapper(threads: int) -> Iterator[SegmentMapper]:
    """One after the other in this thread, or by a pool."""
    if threads == 1:
        yield map
        return
    with ThreadPoolExecutor(threads, "scan") as pool:
        yield pool.map
