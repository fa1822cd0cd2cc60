"""A deployment in memory derives, counts, rolls up and archives as the deployed functions do."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest

from daicho.book.book import Book
from daicho.errors import NotFound
from daicho.plan import EntityPlan
from daicho.storage.attributes import Image
from daicho.testing import DeliveryError, MemoryDeployment
from tests.delivery import sample_entities as book_samples
from tests.delivery.sample_entities import Article, Document
from tests.support.sample_entities import LEDGER, Errand, Note, Visit

START = dt.datetime(2026, 3, 31, 23, tzinfo=dt.UTC)
HOUR_S = 3600


@pytest.fixture
def deployment() -> MemoryDeployment:
    return MemoryDeployment(LEDGER, start=START)


@pytest.fixture
def book(deployment: MemoryDeployment) -> Book:
    return deployment.open_book()


def test_lists_and_searches_show_a_write_once_it_is_delivered(
    deployment: MemoryDeployment, book: Book
) -> None:
    note = book.create(Note(text="The red door", stage="open", origin="mail"))
    assert book.find(Note.key(note.id)) == note
    assert book.page(Note.search("red")).items == []
    assert deployment.deliver() == 1
    assert book.page(Note.search("red")).items == [note]
    assert book.page(Note.urgent("mail")).items == [note]
    book.change(Note.key(note.id), {"stage": "done"})
    assert deployment.deliver() == 1
    assert book.page(Note.urgent("mail")).items == []
    assert deployment.deliver() == 0


def test_items_are_created_in_the_order_of_their_writes(
    deployment: MemoryDeployment, book: Book
) -> None:
    notes = [book.create(Note(id=str(number), text=f"note {number}")) for number in range(3)]
    deployment.deliver()
    assert book.page(Note.search("note")).items == notes[::-1]


def test_totals_and_rankings_show_what_was_delivered_after_a_rollup(
    deployment: MemoryDeployment, book: Book
) -> None:
    for id, weight in (("1", 2), ("2", 3)):
        book.create(Errand(id=id, owner="ann", weight=weight))
    figure = Errand.weights("ann", "open")
    deployment.deliver()
    assert book.read(figure).total == 0
    assert book.read(figure, live=True).total == 5
    deployment.roll_up()
    assert book.read(figure).total == 5
    (score,) = book.top(Errand.weights.top("ann")).items
    assert (score.by, score.total, score.items) == (("open",), Decimal(5), 2)


def test_expired_items_are_archived_once_they_are_removed(
    deployment: MemoryDeployment, book: Book
) -> None:
    first, second = (book.create(Visit(id=id, at=START, kind="web")) for id in ("1", "2"))
    deployment.catch_up()
    assert deployment.expire_items() == 0
    deployment.clock.advance(HOUR_S + 1)
    third = book.create(Visit(id="3", at=START, kind="web"))
    assert deployment.expire_items() == 2
    assert deployment.list_archived_items(Visit) == []
    deployment.catch_up()
    assert deployment.list_archived_items(Visit) == [first, second]
    assert book.page(Visit.newest("web")).items == [third]
    (score,) = book.top(Visit.monthly.top("2026-03")).items
    assert score.items == 3, "the declaration keeps expired items in the figure"


def test_tenants_are_separate(deployment: MemoryDeployment) -> None:
    one, other = deployment.open_book("one"), deployment.open_book("other")
    note = one.create(Note(text="red"))
    deployment.deliver()
    assert other.page(Note.search("red")).items == []
    with pytest.raises(NotFound):
        other.get(Note.key(note.id))


def test_versions_and_sections_are_stored(deployment: MemoryDeployment) -> None:
    deployment = MemoryDeployment(book_samples.LEDGER)
    book = deployment.open_book()
    book.put(Article(id="1", title="a", text="old"))
    book.put(Article(id="1", title="a", text="new"))
    versions = book.page(Article.versions("1")).items
    assert [version.text for version in versions] == ["new", "old"]
    book.create(Document(id="1", sections={"a": 1}))
    book.put(Document(id="1", sections={"b": 2}))
    deployment.clock.advance(HOUR_S)
    deployment.sweep()
    assert book.get(Document.key("1")).sections == {"b": 2}


def test_a_record_that_cannot_be_processed_fails_the_delivery(
    deployment: MemoryDeployment, book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_plan: EntityPlan, _image: Image) -> None:
        raise ValueError("no such figure")

    book.create(Note(text="red"))
    monkeypatch.setattr("daicho.derive.derived_items.compute_index_rows", fail)
    with pytest.raises(DeliveryError, match="could not be processed"):
        deployment.deliver()


def test_a_function_that_fails_fails_the_delivery(
    deployment: MemoryDeployment, book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("no projector")

    book.create(Note(text="red"))
    monkeypatch.setattr("daicho.stream.projector.Projector.project", fail)
    with pytest.raises(DeliveryError, match="project failed: RuntimeError"):
        deployment.deliver()
