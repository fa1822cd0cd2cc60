"""A page of 100 among 3,000 contacts over Dynoxide: Daicho's search beside one search item a field.

The data sets, the peer and the meter are those of `bench.search`. Units are counted with a client
of boto3 on both sides. Processor time is that of the table as it is deployed, and of the peer with
its boto3 client. The peer reads all matches for each page; a keyword with few matches is its best
case, so only the list of all contacts has a threshold.

Before a keyword is measured, all pages of both searches are read and compared with a plain
recomputation (`bench.search.expected_matches`). The peer compares values as they were typed, so it
finds a part of what Daicho finds.
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
from bench.search.expected_matches import find_literal_matches, find_own_matches
from bench.search.items import MAIN, Scale, ledger
from bench.search.queries import Question
from bench.search.report import console
from bench.speed.figures import PAIRS, Figure, compare_in_pairs
from bench.speed.invocation import CREDENTIALS
from daicho import Page
from daicho.book.book import Book
from daicho.storage.attributes import Image
from daicho.storage.table import Table, open_table
from domains.contacts import Contact
from tests.support.dynoxide import client, serving
from tests.support.meter import Meter

CONTACTS = 3_000
REGION = CREDENTIALS["AWS_REGION"]
LEAST_OF_UNITS = 1.0
"""The peer needs at least as many read units as Daicho for a page of all contacts."""
ALL = Question("all contacts", "")
QUESTIONS = (
    ALL,
    Question("a frequent category", "展示会"),
    Question("a surname", "佐藤"),
    Question("a legal form", "株式会社"),
    Question("1 digit", "0"),
    Question("3 digits", "090"),
)
"""Keywords that match more than a page."""


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
    """A search: ``ask`` reads the first page, ``find_all`` gives the ids on all pages in order.

    ``ask_metered`` reads the first page with a client whose units are counted.
    """

    ask: Callable[[Question], object]
    ask_metered: Callable[[Question], object]
    find_all: Callable[[Question], list[str]]
    meter: Meter

    def measure_units(self, question: Question) -> float:
        """Read units of the first page."""
        with self.meter.counting() as consumed:
            self.ask_metered(question)
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
    plans = ledger("prefix")
    metered = Table(dynamodb, name)
    deployed = open_table(name, endpoint=endpoint, region=REGION)

    def read_page(table: Table, question: Question, cursor: str | None = None) -> Page[Contact]:
        book = Book(table, plans, question.tenant)
        return book.page(Contact.search(question.text), limit=PAGE, cursor=cursor)

    def find_all(question: Question) -> list[str]:
        page = read_page(deployed, question)
        ids = [contact.id for contact in page.items]
        while page.cursor is not None:
            page = read_page(deployed, question, page.cursor)
            ids += [contact.id for contact in page.items]
        return ids

    return Side(
        lambda question: read_page(deployed, question),
        lambda question: read_page(metered, question),
        find_all,
        Meter(dynamodb),
    )


def _open_peer(endpoint: str, name: str) -> Side:
    dynamodb: Any = client(endpoint)

    def read_page(question: Question, number: int = 1) -> list[Image]:
        peer = Peer(dynamodb, name, question.tenant)
        return peer.page(question.text.split(), number, contains=False)

    def find_all(question: Question) -> list[str]:
        ids: list[str] = []
        number = 1
        while page := read_page(question, number):
            ids += [item["ID"]["S"].removeprefix("Contact_") for item in page]
            number += 1
        return ids

    return Side(read_page, read_page, find_all, Meter(dynamodb))


def check_matches(question: Question, ours: Side, peer: Side) -> str:
    """Compare all pages of both searches with a plain recomputation; describes how many matched.

    Raises:
        AssertionError: a search finds too much, too little or the wrong order.
    """
    contacts = {contact.id: contact for contact in Crowd(CONTACTS, MAIN)}
    counts = []
    for side, find_matches in ((ours, find_own_matches), (peer, find_literal_matches)):
        expected = find_matches(contacts.values(), question.text)
        ids = side.find_all(question)
        times = [contacts[id].created for id in ids]
        if len(ids) != len(expected) or set(ids) != expected or times != sorted(times)[::-1]:
            raise AssertionError(f"{question.what}: {len(ids)} found, {len(expected)} expected")
        counts.append(len(ids))
    return f"{counts[0]:,} matches, peer {counts[1]:,}"


def _compare(question: Question, ours: Side, peer: Side, pairs: int) -> Iterator[Figure]:
    matches = check_matches(question, ours, peer)
    units, peer_units = ours.measure_units(question), peer.measure_units(question)
    yield Figure(
        f"read units, {question.what}, peer / Daicho",
        peer_units / units,
        "at least",
        LEAST_OF_UNITS if question == ALL else None,
        "times",
        f"{units:,.1f} units, peer {peer_units:,.1f} units; {matches}",
    )
    compared = compare_in_pairs(
        lambda: ours.measure_time(question), lambda: peer.measure_time(question), pairs=pairs
    )
    name = f"processor time, {question.what}, peer / Daicho"
    detail = compared.describe(1e3, "ms")
    yield Figure(name, compared.speedup, "at least", None, "times", detail)
