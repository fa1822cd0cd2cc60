"""Processor time of an item: a `Book` beside PynamoDB, HTTP stubbed.

Both sides use items of the same attributes, and send one request for each call. A `Book` is opened
for each call, as for each request of the API.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol
from unittest.mock import patch

from bench.speed.api import LEDGER
from bench.speed.figures import Figure, compare_in_pairs
from bench.speed.invocation import ENVIRON
from bench.speed.peers.pynamodb_report import PeerReport, build_report
from bench.speed.stubbed_http import StubbedHttp, TableAnswers
from daicho.book.book import Book
from daicho.plan import Ledger
from daicho.storage.table import open_table
from daicho.testing.memory_deployment import MemoryDeployment
from domains.devices import Report

TENANT, DEVICE = "acme", "pump-7"
PAGE_ITEMS = 100
START = dt.datetime(2026, 1, 1, microsecond=1, tzinfo=dt.UTC)
LEAST_OF_PEER = 1.0
"""PynamoDB takes at least Daicho's processor time, also for a write, which Daicho validates."""
IDS = [f"report-{number}" for number in range(PAGE_ITEMS)]
TEXTS = [f"Pressure is falling to {number} kPa" for number in range(PAGE_ITEMS)]
TIMES_OF_ITEMS = [START + dt.timedelta(seconds=number) for number in range(PAGE_ITEMS)]


class Side(Protocol):
    """One way to write, read and list reports."""

    def write(self, number: int) -> object:
        """Store a new report."""

    def read(self, number: int) -> object:
        """One report."""

    def list_all(self) -> Sequence[object]:
        """The hundred reports of the device."""


class DaichoSide:
    """A `Book` with a table over the lean client."""

    def __init__(self, ledger: Ledger) -> None:
        self._table, self._ledger = open_table(ENVIRON["TABLE_NAME"]), ledger

    def write(self, number: int) -> object:
        """Store a new report."""
        return self._open_book().create(build_own_report(number))

    def read(self, number: int) -> object:
        """One report."""
        return self._open_book().get(Report.key(DEVICE, TIMES_OF_ITEMS[number], IDS[number]))

    def list_all(self) -> Sequence[object]:
        """The hundred reports of the device."""
        return self._open_book().page(Report.key.all(DEVICE), limit=PAGE_ITEMS).items

    def _open_book(self) -> Book:
        return Book(self._table, self._ledger, TENANT)


class PynamodbSide:
    """A model of PynamoDB."""

    def write(self, number: int) -> object:
        """Store a new report."""
        return build_peer_report(number).save(condition=PeerReport.pk.does_not_exist())

    def read(self, number: int) -> object:
        """One report."""
        key = f"{TIMES_OF_ITEMS[number].isoformat()}#{IDS[number]}"
        return PeerReport.get(f"{TENANT}#PeerReport#{DEVICE}", key, consistent_read=True)

    def list_all(self) -> Sequence[object]:
        """The hundred reports of the device."""
        return list(PeerReport.query(f"{TENANT}#PeerReport#{DEVICE}", limit=PAGE_ITEMS))


@dataclass(frozen=True)
class Operation:
    """What is measured: the work of one call, how often it is called, and the items of a call."""

    name: str
    work: Callable[[Side, int], object]
    calls: int
    items: int = 1


OPERATIONS = (
    Operation("write an item", lambda side, number: side.write(number), 50),
    Operation("read an item", lambda side, number: side.read(number), 50),
    Operation("list of 100", lambda side, _: side.list_all(), 4, PAGE_ITEMS),
)


def build_own_report(number: int) -> Report:
    """A report of Daicho."""
    return Report(
        device=DEVICE,
        at=TIMES_OF_ITEMS[number],
        id=IDS[number],
        status="warning",
        message=TEXTS[number],
    )


def build_peer_report(number: int) -> PeerReport:
    """The same report of PynamoDB."""
    return build_report(TENANT, DEVICE, TIMES_OF_ITEMS[number], IDS[number], TEXTS[number])


def measure_figures() -> list[Figure]:
    """The ratios of each operation."""
    with open_sides() as (ours, peer):
        return [_compare(operation, ours, peer) for operation in OPERATIONS]


@contextmanager
def open_sides() -> Iterator[tuple[Side, Side]]:
    """Daicho's side and PynamoDB's, over the same stubbed table."""
    ledger = Ledger.load_newest(LEDGER)
    deployment = MemoryDeployment(ledger)
    book = deployment.open_book(TENANT)
    for number in range(PAGE_ITEMS):
        book.create(build_own_report(number))
        item: Any = build_peer_report(number).to_dynamodb_dict()
        deployment._dynamodb.put_item(TableName=ENVIRON["TABLE_NAME"], Item=item)
    stub = StubbedHttp(TableAnswers(deployment._dynamodb))
    with patch.dict(os.environ, ENVIRON), stub:
        ours, peer = DaichoSide(ledger), PynamodbSide()
        for side in (ours, peer):
            _check_side(side, stub)
        yield ours, peer


def _compare(operation: Operation, ours: Side, peer: Side) -> Figure:
    compared = compare_in_pairs(
        lambda: _measure(operation, ours), lambda: _measure(operation, peer)
    )
    items = operation.calls * operation.items
    detail = compared.describe(1e6 / items, "µs an item" if operation.items > 1 else "µs")
    return Figure(operation.name, compared.speedup, "at least", LEAST_OF_PEER, "times", detail)


def _measure(operation: Operation, side: Side) -> float:
    """Seconds of processor time of all calls of one measurement."""
    began = time.process_time()
    for number in range(operation.calls):
        operation.work(side, number % PAGE_ITEMS)
    return time.process_time() - began


def _check_side(side: Side, stub: StubbedHttp) -> None:
    """Each side must find all items, and send one request for each call."""
    before = stub.requests
    side.write(7)
    found: Any = side.read(7)
    listed = len(side.list_all())
    requests = stub.requests - before
    if (found.message, listed, requests) != (TEXTS[7], PAGE_ITEMS, len(OPERATIONS)):
        values = json.dumps([found.message, listed, requests])
        raise AssertionError(f"{type(side).__name__} answers {values}")
