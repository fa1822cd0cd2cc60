"""Declarations that change while items are stored: the old answer, the new one, or none yet."""

from __future__ import annotations

from typing import Any

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from daicho import Aggregate, Count, Listing, Search, Sum, month
from daicho.book.book import Book
from daicho.errors import BadCursor, BeingBuilt
from daicho.storage.item_cache import ItemCache
from daicho.storage.table import Table
from tests.support.changed_invoices import NOON, Stage


@pytest.fixture
def stage(dynamodb: DynamoDBClient, table_name: str) -> Stage:
    built = Stage(dynamodb, table_name)
    built.deploy()
    built.write("1")
    built.write("2", country="fr", amount=50)
    return built


def add_listing(body: dict[str, Any]) -> None:
    body["by_country"] = Listing(body["country"])


def test_a_new_listing_is_refused_until_it_includes_every_item(stage: Stage) -> None:
    stage.deploy(add_listing)
    stage.write("3")
    with pytest.raises(BeingBuilt, match=r"Invoice\.by_country is being built"):
        stage.list(stage.entity.by_country("jp"))
    assert stage.list(stage.entity.by_status("open")) == ["3", "2", "1"]
    for id in ("1", "2"):
        stage.write(id)
    stage.set_state(oldest=2, newest=2)
    assert stage.list(stage.entity.by_country("jp")) == ["3", "2", "1"]


def add_aggregate(body: dict[str, Any]) -> None:
    body["count"] = Aggregate(Count(), body["country"], ranked=True)


def test_a_new_aggregate_is_no_zero(stage: Stage) -> None:
    stage.deploy(add_aggregate)
    stage.write("3")
    for live in (False, True):
        with pytest.raises(BeingBuilt):
            stage.book.read(stage.entity.count("jp"), live=live)
        with pytest.raises(BeingBuilt):
            stage.book.top(stage.entity.count.top(), live=live)
    assert stage.read_revenue() == (200, 1)


def search_country_too(body: dict[str, Any]) -> None:
    body["search"] = Search(body["customer"], body["country"])


def test_a_search_with_another_field_answers_as_before_until_it_is_built(stage: Stage) -> None:
    stage.deploy(search_country_too)
    stage.write("3", country="no")
    assert stage.list(stage.entity.search("ada")) == ["3", "2", "1"]
    assert stage.list(stage.entity.search("no")) == []
    for id in ("1", "2"):
        stage.write(id)
    stage.set_state(oldest=2, newest=2)
    assert stage.list(stage.entity.search("ada")) == ["3", "2", "1"]
    assert stage.list(stage.entity.search("no")) == ["3"]


def raise_shards(body: dict[str, Any]) -> None:
    body["by_status"] = Listing(body["status"], shards=4)
    body["search"] = Search(body["customer"], shards=2)
    body["revenue"] = Aggregate(
        Sum(body["amount"]), body["country"], within=month(body["at"]), ranked=True, shards=3
    )


def test_code_that_is_rolled_back_reads_what_the_newer_code_wrote(stage: Stage) -> None:
    stage.deploy(search_country_too)
    stage.write("3", country="no")
    stage.roll_back()
    stage.write("4")
    assert stage.list(stage.entity.search("a")) == ["4", "3", "2", "1"]
    assert stage.list(stage.entity.search("no")) == []
    assert stage.read_revenue() == (200, 1)


def test_what_rolled_back_code_wrote_is_missing_from_no_answer_of_the_newer_code(
    stage: Stage,
) -> None:
    stage.deploy(search_country_too)
    for id in ("1", "2"):
        stage.write(id)
    stage.set_state(oldest=2, newest=2)
    assert stage.list(stage.entity.search("jp")) == ["2", "1"]
    # What a deployment does before code that writes an older generation starts.
    stage.set_state(oldest=1, newest=2)
    stage.roll_back()
    stage.write("3")
    stage.deploy(search_country_too)
    assert stage.list(stage.entity.search("jp")) == []
    assert stage.list(stage.entity.search("a")) == ["3", "2", "1"]


def test_a_cursor_stays_valid_with_the_instance_that_retires(stage: Stage) -> None:
    for id in ("3", "4", "5"):
        stage.write(id, country=id)
    stage.deploy(raise_shards)
    page = stage.book.page(stage.entity.by_status("open"), limit=2)
    top = stage.book.top(stage.entity.revenue.top(NOON), limit=2)
    for id in ("1", "2", "3", "4", "5"):
        stage.write(id, country=id)
    stage.set_state(oldest=2, newest=2)
    newer = stage.book.page(stage.entity.by_status("open"), limit=2)
    for cursor in (page.cursor, newer.cursor):
        rest = stage.list(stage.entity.by_status("open"), limit=10, cursor=cursor)
        assert rest == ["3", "2", "1"]
    assert page.cursor != newer.cursor
    rest_of_ranking = stage.book.top(stage.entity.revenue.top(NOON), limit=10, cursor=top.cursor)
    assert len(rest_of_ranking.items) == 3
    with pytest.raises(BadCursor):
        stage.list(stage.entity.search("a"), cursor=page.cursor)


@pytest.mark.parametrize("kind", ["list", "ranking"])
def test_a_cursor_is_valid_where_the_switch_is_not_known_yet(stage: Stage, kind: str) -> None:
    """Function instances learn at different times that a newer instance is complete."""
    stage.deploy(raise_shards)
    for id in ("1", "2", "3", "4", "5"):
        stage.write(id, country=id)

    def read(book: Book, cursor: str | None = None) -> Any:
        if kind == "list":
            return book.page(stage.entity.by_status("open"), limit=2, cursor=cursor)
        return book.top(stage.entity.revenue.top(NOON), limit=2, cursor=cursor)

    table, cache = Table(stage.dynamodb, stage.name), ItemCache(lambda: NOON)
    late = Book(table, stage.ledger, "t", clock=lambda: NOON, item_cache=cache)
    read(late)
    stage.set_state(oldest=2, newest=2)
    newer = read(stage.book)
    assert read(late).cursor != newer.cursor
    rest = read(late, newer.cursor)
    assert len(rest.items) == 2
    assert rest.cursor == read(stage.book, newer.cursor).cursor
