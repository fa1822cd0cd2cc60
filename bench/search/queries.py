"""The questions to both searches, and the measured cost of each page."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.search.baseline import PAGE, Peer
from bench.search.items import LABELLED, MAIN, ledger
from daicho.book.book import Book
from daicho.search.grams import Mode
from daicho.storage.table import Table
from domains.contacts import Contact
from tests.support.dynoxide import client
from tests.support.meter import Meter

DEEP = 50
"""The measured deep page; a list with fewer pages is measured at its end."""

ROUNDS, SECONDS = 40, 1.0
"""Maximum number of requests of a page, and maximum seconds; one request at least."""

SLOW = 0.5
"""Seconds. A slower peer gets no request for another page of the same keyword.

It reads the same items for each page.
"""


@dataclass(frozen=True)
class Question:
    """A keyword, and its label in the tables."""

    what: str
    text: str
    tenant: str = MAIN


@dataclass(frozen=True)
class Cost:
    """The cost of one page: read units, requests, milliseconds, and the number of its rows."""

    page: int
    rows: int
    units: float
    requests: int
    median: float
    p99: float
    rounds: int


PageUnits = tuple[float, int, bool]
"""Read units of a page, its rows, and whether another page follows."""


@dataclass(frozen=True)
class QuestionCosts:
    """One question at one size, with the costs of both searches."""

    question: Question
    size: int
    ours: Sequence[Cost]
    theirs: Sequence[Cost]


PREFIX = (
    Question("all", ""),
    Question("1 character", "佐"),
    Question("1 digit", "0"),
    Question("2 characters", "佐藤"),
    Question("3 characters", "090"),
    Question("5 characters", "株式会社東"),
    Question("8 characters", "株式会社東京商事"),
    Question("4 characters", "株式会社"),
    Question("few", "信香"),
    Question("none", "ヌヌヌ"),
    Question("two words", "佐藤 健"),
    Question("two that never meet", "090 03"),
    Question("two that seldom meet", "佐藤 さくら"),
    Question("a category", "見込み客"),
    Question("10 categories", "展示会"),
    Question("a category of 1,000", "顧客第07区支店073", LABELLED),
    Question("10 categories of 1,000", "顧客第07区", LABELLED),
    Question("1,000 categories", "顧客", LABELLED),
)
CONTAINS = (
    Question("all", ""),
    Question("1 character", "田"),
    Question("2 characters", "会社"),
    Question("3 characters", "234"),
    Question("4 characters", "システム"),
    Question("few", "信香"),
    Question("none", "ヌヌヌ"),
    Question("two words", "佐 会社"),
    Question("two that never meet", "有限会社 合同会社"),
    Question("a category", "客"),
)
STEADY = ("all", "1 character", "1 digit", *(f"{many} characters" for many in (2, 3, 5, 8)))
"""Questions whose cost must be the same at any number of contacts."""

QUESTIONS: dict[Mode, tuple[Question, ...]] = {"prefix": PREFIX, "contains": CONTAINS}


class Ours:
    """Daicho's search, with a `Book` of one tenant for each request as in the API."""

    def __init__(self, endpoint: str, table: str, mode: Mode) -> None:
        self._client = client(endpoint)
        self._meter = Meter(self._client)
        self._table = Table(self._client, table)
        self._ledger = ledger(mode)

    def costs(self, question: Question) -> list[Cost]:
        """The costs of the first page, and of the 50th or the last."""
        cursors = self.cursors(question)
        deep = len(cursors)
        return [
            self._cost(question, cursors[number - 1], number) for number in dict.fromkeys((1, deep))
        ]

    def cursors(self, question: Question) -> list[str | None]:
        """The cursors of its pages, up to the 50th."""
        cursors: list[str | None] = [None]
        while len(cursors) < DEEP:
            _, cursor = self.page(question, cursors[-1])
            if cursor is None:
                break
            cursors.append(cursor)
        return cursors

    def page(self, question: Question, cursor: str | None = None) -> tuple[int, str | None]:
        """The number of rows of a page, and the cursor of the next page."""
        book = Book(self._table, self._ledger, question.tenant)
        page = book.page(Contact.search(question.text), limit=PAGE, cursor=cursor)
        return len(page.items), page.cursor

    def units(self, question: Question) -> PageUnits:
        """Read units and rows of the first page, and whether another page follows."""
        with self._meter.counting() as consumed:
            rows, cursor = self.page(question)
        return consumed.reads, rows, cursor is not None

    def _cost(self, question: Question, cursor: str | None, number: int) -> Cost:
        return measure(self._meter, number, lambda: self.page(question, cursor)[0])


class Theirs:
    """Seed 001's search."""

    def __init__(self, endpoint: str, table: str, mode: Mode) -> None:
        self._client = client(endpoint)
        self._meter = Meter(self._client)
        self._table, self._contains = table, mode == "contains"

    def costs(self, question: Question, pages: list[int]) -> list[Cost]:
        """The costs of the same pages.

        If the first page is slow, only that page is measured.
        """
        costs: list[Cost] = []
        for page in pages:
            if costs and costs[0].median > SLOW * 1000:
                break
            costs.append(self._cost(question, page))
        return costs

    def _cost(self, question: Question, number: int) -> Cost:
        peer = Peer(self._client, self._table, question.tenant)
        words = question.text.split()
        ask: Callable[[], int] = lambda: len(peer.page(words, number, contains=self._contains))  # noqa: E731
        return measure(self._meter, number, ask)


def measure(meter: Meter, page: int, ask: Callable[[], int]) -> Cost:
    """Repeat a request; read units and requests are the same each time."""
    times: list[float] = []
    until = time.perf_counter() + SECONDS
    rows = 0
    reads, requests = 0.0, 0
    while not times or (len(times) < ROUNDS and time.perf_counter() < until):
        with meter.counting() as consumed:
            began = time.perf_counter()
            rows = ask()
            times.append((time.perf_counter() - began) * 1000)
        reads, requests = consumed.reads, sum(consumed.requests.values())
    ordered = sorted(times)
    p99 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    return Cost(page, rows, reads, requests, statistics.median(ordered), p99, len(ordered))
