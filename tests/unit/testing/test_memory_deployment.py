"""A deployment in memory derives, counts, rolls up and archives as the deployed functions do."""

from __future__ import annotations

import datetime as dt

import pytest

from daicho.book.book import Book
from daicho.plan import EntityPlan
from daicho.storage.attributes import Image
from daicho.testing import DeliveryError, MemoryDeployment
from tests.delivery import sample_entities as book_samples
from tests.delivery.sample_entities import Article, Document
from tests.support.sample_entities import LEDGER, Note

START = dt.datetime(2026, 3, 31, 23, tzinfo=dt.UTC)
HOUR_S = 3600


@pytest.fixture
def deployment() -> MemoryDeployment:
    return MemoryDeployment(LEDGER, start=START)


@pytest.fixture
def book(deployment: MemoryDeployment) -> Book:
    return deployment.open_book()


def test_items_are_created_in_the_order_of_their_writes(
    deployment: MemoryDeployment, book: Book
) -> None:
    notes = [book.create(Note(id=str(number), text=f"note {number}")) for number in range(3)]
    deployment.deliver()
    assert book.page(Note.search("note")).items == notes[::-1]


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
