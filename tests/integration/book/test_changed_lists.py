"""Lists whose declarations change: their cursors, and the rows that copy items."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from daicho import Listing
from daicho.plan import Decisions
from tests.support.changed_invoices import Stage, add_note
from tests.support.meter import Meter


def copy_everything(body: dict[str, Any]) -> None:
    body["by_status"] = Listing(body["status"], copies=all)


def copy_everything_and_note(body: dict[str, Any]) -> None:
    add_note(body)
    copy_everything(body)


def test_a_field_that_nobody_reads_does_not_empty_a_list_that_copies_everything(
    dynamodb: DynamoDBClient, table_name: str
) -> None:
    stage = Stage(dynamodb, table_name)
    stage.deploy(copy_everything)
    stage.write("1")
    stage.deploy(copy_everything_and_note)
    stage.write("2", note="new")
    items = stage.book.page(stage.entity.by_status("open")).items
    assert [(item.id, item.note) for item in items] == [("2", "new"), ("1", "none")]


REVERTED = Decisions(reverted=frozenset({"Invoice"}))


@pytest.mark.parametrize("decisions", [Decisions(), REVERTED])
def test_a_field_that_is_declared_again_is_not_hidden_by_rows_that_did_not_copy_it(
    dynamodb: DynamoDBClient, table_name: str, decisions: Decisions
) -> None:
    """A write leaves the values of undeclared fields in the item; its rows do not copy them."""
    stage = Stage(dynamodb, table_name)
    stage.deploy(copy_everything_and_note)
    stage.write("1", note="kept")
    stage.deploy(copy_everything)
    stage.write("1")
    stage.deploy(copy_everything_and_note, decisions)
    (item,) = stage.book.page(stage.entity.by_status("open")).items
    assert item.note == "kept" == stage.book.get(stage.entity.key("1")).note
    if decisions is REVERTED:
        stage.write("1", note="new")
        stage.set_state(oldest=3, newest=3)
        with Meter(stage.dynamodb).counting() as consumed:
            (item,) = stage.book.page(stage.entity.by_status("open")).items
        assert item.note == "new"
        assert "BatchGetItem" not in consumed.requests


def shard_listings(**shards: int) -> Callable[[dict[str, Any]], object]:
    def change(body: dict[str, Any]) -> None:
        body["by_status"] = Listing(body["status"], shards=shards["by_status"])
        body["by_country"] = Listing(body["country"], shards=shards["by_country"])

    return change


@pytest.mark.parametrize(("oldest", "later"), [(1, 1), (1, 2), (1, 3), (2, 2), (2, 3), (3, 3)])
def test_a_cursor_of_merged_lists_stays_valid_while_the_instances_of_each_retire(
    dynamodb: DynamoDBClient, table_name: str, oldest: int, later: int
) -> None:
    """Which instances answer depends on what is complete, and differs by listing."""
    stage = Stage(dynamodb, table_name)
    for by_status, by_country in ((1, 1), (2, 1), (2, 2)):
        stage.deploy(shard_listings(by_status=by_status, by_country=by_country))
        for id in ("1", "2", "3", "4"):
            stage.write(id, country="jp" if id in "12" else "fr")
    queries = (stage.entity.by_status("open"), stage.entity.by_country("jp"))
    stage.set_state(oldest=oldest, newest=3)
    page = stage.book.page(*queries, limit=2)
    assert [item.id for item in page.items] == ["4", "3"]
    stage.set_state(oldest=later, newest=3)
    rest = stage.book.page(*queries, limit=10, cursor=page.cursor)
    assert [item.id for item in rest.items] == ["2", "1"]
