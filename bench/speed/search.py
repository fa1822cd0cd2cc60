"""A page of 100 among 3,000 contacts over Dynoxide: Daicho's search beside seed 001's algorithm.

The data sets, the peer and the meter are those of `bench.search`. Both sides use a client of boto3,
so the algorithms are compared and not the clients. The peer reads all matches for each page; a
keyword with few matches is its best case, so only the list of all contacts has a threshold.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from bench.search.baseline import PAGE, Peer
from bench.search.contact_generator import Crowd
from bench.search.datasets import fill, progress_bar
from bench.search.items import MAIN, Scale, ledger
from bench.search.queries import Question
from bench.search.report import console
from bench.speed.figures import PAIRS, Figure, compare_in_pairs
from bench.speed.invocation import CREDENTIALS
from bench.speed.plot import TIMES
from daicho.book.book import Book
from daicho.storage.attributes import Image
from daicho.storage.keys import render_instant
from daicho.storage.table import Table
from domains.contacts import Contact
from tests.support.dynoxide import client, serving
from tests.support.meter import Meter

CONTACTS = 3_000
LEAST_OF_UNITS = 1.0
"""The peer needs at least as many read units as Daicho for a page of all contacts."""
ALL = Question("all contacts", "")
QUESTIONS = (ALL, Question("a frequent category", "展示会"))
"""Keywords of which both searches find the same contacts, so that their costs can be compared."""


@dataclass(frozen=True)
class OneTenant(Scale):
    """Contacts of the main tenant only, in files of their own."""

    @property
    def name(self) -> str:
        """The name of its files."""
        return f"speed-{self.size}"

    def crowds(self) -> Iterator[tuple[str, Crowd]]:
        """The tenant and its contacts."""
        yield MAIN, Crowd(self.size, MAIN)

    @property
    def people(self) -> int:
        """The number of contacts."""
        return self.size


@dataclass(frozen=True)
class Side:
    """A search: ``ask`` gives the creation times of the contacts of the first page."""

    ask: Callable[[Question], list[str]]
    meter: Meter

    def measure_units(self, question: Question) -> float:
        """Read units of the first page."""
        with self.meter.counting() as consumed:
            self.ask(question)
        return consumed.reads

    def measure_time(self, question: Question) -> float:
        """Seconds of processor time of the first page, without Dynoxide's."""
        began = time.process_time()
        self.ask(question)
        return time.process_time() - began


def measure_figures(*, full: bool = False) -> list[Figure]:
    """For each keyword the ratio of the read units and of the processor times."""
    pairs = PAIRS * (3 if full else 1)
    with patch.dict(os.environ, CREDENTIALS), open_sides() as (ours, peer):
        return [
            figure for question in QUESTIONS for figure in _compare(question, ours, peer, pairs)
        ]


@contextmanager
def open_sides() -> Iterator[tuple[Side, Side]]:
    """Both searches, each over its own table of the same contacts."""
    scale = OneTenant("prefix", CONTACTS)
    ours, theirs = scale.ours(), scale.theirs()
    with progress_bar(console) as progress:
        for dataset in (ours, theirs):
            fill(dataset, progress)
    with serving(ours.database) as our_endpoint, serving(theirs.database) as their_endpoint:
        yield _open_own_side(our_endpoint, ours.table), _open_peer(their_endpoint, theirs.table)


def _open_own_side(endpoint: str, name: str) -> Side:
    dynamodb = client(endpoint)
    table, plans = Table(dynamodb, name), ledger("prefix")

    def ask(question: Question) -> list[str]:
        book = Book(table, plans, question.tenant)
        page = book.page(Contact.search(question.text), limit=PAGE)
        return [render_instant(contact.created_at) for contact in page.items]

    return Side(ask, Meter(dynamodb))


def _open_peer(endpoint: str, name: str) -> Side:
    dynamodb: Any = client(endpoint)

    def ask(question: Question) -> list[str]:
        peer = Peer(dynamodb, name, question.tenant)
        page: list[Image] = peer.page(question.text.split(), 1, contains=False)
        return [str(contact["CreatedAt"]["S"]) for contact in page]

    return Side(ask, Meter(dynamodb))


def _compare(question: Question, ours: Side, peer: Side, pairs: int) -> Iterator[Figure]:
    found = ours.ask(question)
    if len(found) != PAGE or found != peer.ask(question):
        raise AssertionError(f"{question.what}: both must find the same {PAGE} contacts")
    units, peer_units = ours.measure_units(question), peer.measure_units(question)
    yield Figure(
        f"read units, {question.what}, seed 001 / Daicho",
        peer_units / units,
        "at least",
        LEAST_OF_UNITS if question == ALL else None,
        TIMES,
        f"{units:,.1f} units, peer {peer_units:,.1f} units",
    )
    compared = compare_in_pairs(
        lambda: ours.measure_time(question), lambda: peer.measure_time(question), pairs=pairs
    )
    name = f"processor time, {question.what}, seed 001 / Daicho"
    detail = compared.describe(1e3, "ms")
    yield Figure(name, compared.speedup, "at least", None, TIMES, detail)
