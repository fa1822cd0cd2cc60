"""Declarations that change while items are stored: the old answer, the new one, or none yet."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from daicho import (
    Aggregate,
    Count,
    Domain,
    Entity,
    Key,
    Listing,
    Search,
    Sum,
    field,
    month,
    one_of,
    uid,
)
from daicho.book.book import Book
from daicho.declare.registry import Daicho
from daicho.errors import BadCursor, BeingBuilt, DeclarationError
from daicho.layout.backfill_state import BackfillState, build_backfill_key
from daicho.plan import Decisions, Ledger
from daicho.storage.table import Table
from tests.support.derived_state import count_all, derive_all
from tests.support.meter import Meter

NOON = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)
ANNOTATIONS: dict[str, Any] = {
    "id": str,
    "customer": str,
    "status": str,
    "country": str,
    "amount": int,
    "at": dt.datetime,
}
FIELDS = {name: field() for name in ANNOTATIONS}


def declare(change: Callable[[dict[str, Any]], object] = lambda body: None) -> type[Any]:
    """An invoice with a listing by status, a search of customers and a monthly revenue."""
    fields = {name: uid() if name == "id" else field() for name in ANNOTATIONS}
    body: dict[str, Any] = {"__annotations__": dict(ANNOTATIONS), "__module__": __name__, **fields}
    body["key"] = Key(fields["id"])
    body["by_status"] = Listing(fields["status"])
    body["search"] = Search(fields["customer"])
    body["revenue"] = Aggregate(
        Sum(fields["amount"]), fields["country"], within=month(fields["at"]), ranked=True
    )
    change(body)
    return type("Invoice", (Entity,), body)


@dataclass
class Stage:
    """A table, and the code that is deployed on it."""

    dynamodb: DynamoDBClient
    name: str
    ledger: Ledger
    entity: type[Any]

    def deploy(
        self,
        change: Callable[[dict[str, Any]], object] = lambda body: None,
        decisions: Decisions = Decisions(),  # noqa: B008  # immutable
    ) -> None:
        """Deploy changed declarations, with a new generation if they need one."""
        self.entity = declare(change)
        daicho = Daicho(Domain("test", self.entity))
        self.ledger = daicho.check_locked(daicho.append_generations(self.ledger, decisions))
        self.set_state(oldest=1, newest=self.ledger.newest_generation("Invoice").number)

    def roll_back(self, change: Callable[[dict[str, Any]], object] = lambda body: None) -> None:
        """Deploy earlier declarations with the newest ledger."""
        self.entity = declare(change)
        self.ledger = Daicho(Domain("test", self.entity)).check_locked(self.ledger)

    @property
    def book(self) -> Book:
        return Book(Table(self.dynamodb, self.name), self.ledger, "t", clock=lambda: NOON)

    def write(self, id: str, **values: Any) -> None:
        """Write an invoice, and let the stream catch up."""
        given = {
            "customer": "Ada",
            "status": "open",
            "country": "jp",
            "amount": 100,
            "at": NOON,
            **values,
        }
        self.book.put(self.entity(id=id, **given))
        self.catch_up()

    def catch_up(self) -> None:
        derive_all(self.dynamodb, self.name, self.ledger)
        count_all(self.dynamodb, self.name, self.ledger)

    def set_state(self, oldest: int, newest: int) -> None:
        """Write the backfill item as a rebuild does when it has finished."""
        item = BackfillState("Invoice", oldest, newest).to_item()
        self.dynamodb.put_item(TableName=self.name, Item=item)

    def list(self, query: Any, **options: Any) -> list[str]:
        return [item.id for item in self.book.page(query, **options).items]

    def read_revenue(self, country: str = "jp") -> tuple[int, int | None]:
        score = self.book.read(self.entity.revenue(NOON, country), ranked=True)
        return int(score.total), score.rank


@pytest.fixture
def stage(dynamodb: DynamoDBClient, table_name: str) -> Stage:
    built = Stage(dynamodb, table_name, Ledger(), Entity)
    built.deploy()
    built.write("1")
    built.write("2", country="fr", amount=50)
    return built


def test_nothing_is_being_built_at_the_first_deployment(stage: Stage) -> None:
    assert stage.list(stage.entity.by_status("open")) == ["2", "1"]
    assert stage.read_revenue() == (100, 1)


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


def test_more_shards_empty_nothing(stage: Stage) -> None:
    stage.deploy(raise_shards)
    stage.write("3", country="fr")
    for _ in range(2):
        assert stage.list(stage.entity.by_status("open")) == ["3", "2", "1"]
        assert stage.list(stage.entity.search("a")) == ["3", "2", "1"]
        assert stage.read_revenue("fr") == (150, 1)
        for id, amount in (("1", 100), ("2", 50)):
            stage.write(id, country="fr" if id == "2" else "jp", amount=amount)
        stage.set_state(oldest=2, newest=2)


def make_amount_decimal(body: dict[str, Any]) -> None:
    body["__annotations__"]["amount"] = Decimal


def test_another_type_that_is_stored_alike_changes_nothing(stage: Stage) -> None:
    stage.deploy(make_amount_decimal)
    assert stage.ledger.newest_generation("Invoice").number == 2
    stage.write("3", amount=Decimal("0.5"))
    score = stage.book.read(stage.entity.revenue(NOON, "jp"), ranked=True)
    assert score.total == Decimal("100.5")


def make_status_a_number(body: dict[str, Any]) -> None:
    body["__annotations__"]["status"] = int


def test_another_type_that_stored_values_do_not_have_is_refused(stage: Stage) -> None:
    with pytest.raises(DeclarationError, match=r"Invoice\.status changes from str to int"):
        stage.deploy(make_status_a_number)


def add_note(body: dict[str, Any]) -> None:
    body["__annotations__"]["note"] = str
    body["note"] = field(default="none")


def test_a_field_with_a_default_is_read_by_it_and_changes_no_instance(stage: Stage) -> None:
    stage.deploy(add_note)
    assert stage.ledger.newest_generation("Invoice").number == 1
    assert [item.note for item in stage.book.page(stage.entity.by_status("open")).items] == [
        "none",
        "none",
    ]


def require_note(body: dict[str, Any]) -> None:
    body["__annotations__"]["note"] = str
    body["note"] = field()


def test_a_required_field_without_a_default_is_refused(stage: Stage) -> None:
    with pytest.raises(DeclarationError, match=r"Invoice\.note is new and required"):
        stage.deploy(require_note)


def copy_everything(body: dict[str, Any]) -> None:
    body["by_status"] = Listing(body["status"], copies=all)


def copy_everything_and_note(body: dict[str, Any]) -> None:
    add_note(body)
    copy_everything(body)


def test_a_field_that_nobody_reads_does_not_empty_a_list_that_copies_everything(
    dynamodb: DynamoDBClient, table_name: str
) -> None:
    stage = Stage(dynamodb, table_name, Ledger(), Entity)
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
    stage = Stage(dynamodb, table_name, Ledger(), Entity)
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


def test_a_declaration_that_is_reverted_serves_at_once(stage: Stage) -> None:
    stage.deploy(search_country_too)
    stage.write("3", country="no")
    stage.deploy(decisions=Decisions(reverted=frozenset({"Invoice"})))
    assert stage.ledger.newest_generation("Invoice").number == 3
    stage.write("4")
    assert stage.list(stage.entity.search("a")) == ["4", "3", "2", "1"]
    assert stage.list(stage.entity.search("no")) == []


def count_paid_alone(body: dict[str, Any]) -> None:
    body["revenue"] = Aggregate(
        Sum(body["amount"]),
        body["country"],
        within=month(body["at"]),
        ranked=True,
        where=one_of(body["status"], "paid"),
    )


def test_an_aggregate_with_another_condition_answers_as_before_until_it_is_built(
    stage: Stage,
) -> None:
    stage.deploy(count_paid_alone)
    stage.write("3", status="paid", amount=7)
    assert stage.read_revenue() == (107, 1)
    assert [score.total for score in stage.book.top(stage.entity.revenue.top(NOON)).items] == [
        107,
        50,
    ]
    for id in ("1", "2"):
        stage.write(id)
    stage.set_state(oldest=2, newest=2)
    assert stage.read_revenue() == (7, 1)


def group_by_customer(body: dict[str, Any]) -> None:
    body["revenue"] = Aggregate(
        Sum(body["amount"]), body["customer"], within=month(body["at"]), ranked=True
    )


def test_an_aggregate_of_other_groups_is_refused_until_it_is_built(stage: Stage) -> None:
    stage.deploy(group_by_customer)
    stage.write("3")
    with pytest.raises(BeingBuilt):
        stage.book.read(stage.entity.revenue(NOON, "Ada"))
    with pytest.raises(BeingBuilt):
        stage.book.top(stage.entity.revenue.top(NOON))


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
    stage = Stage(dynamodb, table_name, Ledger(), Entity)
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


def remove_ranking(body: dict[str, Any]) -> None:
    body["revenue"] = Aggregate(Sum(body["amount"]), body["country"], within=month(body["at"]))


def test_without_a_backfill_item_the_declared_instance_answers_if_no_other_one_does(
    stage: Stage,
) -> None:
    stage.deploy(add_listing)
    stage.write("3")
    key = build_backfill_key("Invoice")
    stage.dynamodb.delete_item(TableName=stage.name, Key={"PK": {"S": key.pk}, "SK": {"S": key.sk}})
    assert stage.list(stage.entity.by_country("jp")) == ["3"]
    assert stage.list(stage.entity.by_status("open")) == ["3", "2", "1"]


def test_a_rank_needs_an_instance_with_a_ranking(dynamodb: DynamoDBClient, table_name: str) -> None:
    stage = Stage(dynamodb, table_name, Ledger(), Entity)
    stage.deploy(remove_ranking)
    stage.write("1")
    stage.deploy()
    stage.write("2")
    assert stage.book.read(stage.entity.revenue(NOON, "jp")).total == 200
    with pytest.raises(BeingBuilt):
        stage.read_revenue()
    with pytest.raises(BeingBuilt):
        stage.book.top(stage.entity.revenue.top(NOON))
