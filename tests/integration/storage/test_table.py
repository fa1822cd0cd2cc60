"""The table gateway against a real DynamoDB interface."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from daicho.errors import (
    ContendedError,
    RefusedError,
    StoreError,
    ThrottledError,
    TransactionFailedError,
    UnansweredError,
    UnavailableError,
    UnprocessedError,
)
from daicho.runtime.retry import RetryBudget
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.botocore_errors import translate_error
from daicho.storage.requests import Delete, Put, Query, Update, read_insert_outcome
from daicho.storage.table import Table, open_table
from tests.support.memory_stores import MemoryTable


def item(pk: str, sk: str, **values: str) -> Image:
    return {"PK": {"S": pk}, "SK": {"S": sk}} | {name: {"S": v} for name, v in values.items()}


def test_a_transaction_does_all_or_nothing(table: Table) -> None:
    table.put(item("a", "1"))
    one = {":one": {"N": "1"}}
    table.transact(
        [
            Delete(ItemKey("a", "1"), "attribute_exists(PK)"),
            Update(ItemKey("a", "2"), "ADD #n :one", names={"#n": "n"}, values=one),
            Put(item("a", "3"), "attribute_not_exists(PK)"),
        ]
    )
    standing = [{**item("a", "2"), "n": {"N": "1"}}, item("a", "3")]
    (page,) = table.query_pages(Query("a"))
    assert list(page.items) == standing
    with pytest.raises(TransactionFailedError) as failed:
        table.transact(
            [
                Update(ItemKey("a", "2"), "ADD #n :one", names={"#n": "n"}, values=one),
                Put(item("a", "3", name="new"), "attribute_not_exists(PK)"),
                Delete(ItemKey("a", "1"), "attribute_exists(PK)"),
            ]
        )
    assert failed.value.refused == {1: item("a", "3"), 2: None}
    assert failed.value.item == item("a", "3")
    (page,) = table.query_pages(Query("a"))
    assert list(page.items) == standing


@pytest.mark.parametrize(
    ("codes", "error"),
    [
        (["None", "TransactionConflict"], ContendedError),
        (["TransactionConflict", "ThrottlingError"], ThrottledError),
        (["TransactionConflict", "ConditionalCheckFailed"], TransactionFailedError),
        (["ConditionalCheckFailed", "ValidationError"], RefusedError),
    ],
)
def test_why_a_transaction_was_cancelled(codes: list[str], error: type[StoreError]) -> None:
    reasons = [{"Code": code} for code in codes]
    answer: Any = {
        "Error": {"Code": "TransactionCanceledException", "Message": "cancelled"},
        "CancellationReasons": reasons,
    }
    refusal = ClientError(answer, "TransactWriteItems")
    assert type(translate_error(refusal, "a transaction")) is error


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("TransactionConflictException", ContendedError),
        ("TransactionInProgressException", UnansweredError),
    ],
)
def test_a_transaction_in_the_way(code: str, error: type[StoreError]) -> None:
    answer: Any = {"Error": {"Code": code, "Message": "x"}}
    assert type(translate_error(ClientError(answer, "PutItem"), "a write")) is error


def test_no_server_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:9")
    with pytest.raises(UnavailableError):
        open_table("none", attempts=1).get(ItemKey("a", "b"))


def test_a_request_that_can_never_succeed_is_refused(table: Table) -> None:
    with pytest.raises(RefusedError):
        table.put({"PK": {"S": ""}, "SK": {"S": "b"}})


class Leaving:
    """A client that leaves all but the first of each batch unprocessed, so many times."""

    def __init__(self, times: int) -> None:
        self.times = times
        self.seen: list[Any] = []

    def _left(self, asked: list[Any]) -> list[Any]:
        self.times -= 1
        left = asked[1:] if self.times >= 0 else []
        self.seen += asked[: len(asked) - len(left)]
        return left

    def batch_get_item(self, RequestItems: dict[str, Any]) -> Any:
        left = self._left(asked := RequestItems["t"]["Keys"])
        done = asked[: len(asked) - len(left)]
        return {"Responses": {"t": done}, "UnprocessedKeys": {"t": {"Keys": left}} if left else {}}

    def batch_write_item(self, RequestItems: dict[str, Any]) -> Any:
        left = self._left(RequestItems["t"])
        return {"UnprocessedItems": {"t": left} if left else {}}


@pytest.fixture
def retry_budget() -> Iterator[RetryBudget]:
    """Three attempts, without waiting."""
    time = [3.0]

    def sleep(_: float) -> None:
        time[0] -= 1.5

    yield RetryBudget(lambda: time[0], reserve=0, sleep=sleep)


def test_what_dynamodb_leaves_is_asked_for_again(retry_budget: RetryBudget) -> None:
    client: Any = Leaving(2)
    keys = [ItemKey("p", each) for each in "abc"]
    assert set(Table(client, "t").batch_get(keys, retry_budget=retry_budget).require_all()) == set(
        keys
    )


def test_what_is_still_left_at_the_deadline_is_named(retry_budget: RetryBudget) -> None:
    client: Any = Leaving(9)
    keys = [ItemKey("p", each) for each in "abcdef"]
    found = Table(client, "t").batch_get(keys, retry_budget=retry_budget)
    assert found.unprocessed == tuple(keys[3:])
    with pytest.raises(UnprocessedError):
        found.require_all()


def test_a_batch_write_that_stays_unfinished_raises(retry_budget: RetryBudget) -> None:
    client: Any = Leaving(9)
    with pytest.raises(UnprocessedError) as error:
        Table(client, "t").batch_write(
            [item("p", each) for each in "abcdef"], retry_budget=retry_budget
        )
    assert error.value.left == tuple(ItemKey("p", each) for each in "def")
    assert [each["PutRequest"]["Item"]["SK"]["S"] for each in client.seen] == ["a", "b", "c"]


def test_items_are_inserted_each_on_its_own(table: Table) -> None:
    items: list[Image] = [
        {"PK": {"S": "p"}, "SK": {"S": sk}, "copy": {"S": '{"it\'s": "?"}'}, "seq": {"S": "1"}}
        for sk in "abc"
    ]
    for store in (table, MemoryTable()):
        assert store.insert_batch(items[:1]) == ["inserted"]
        changed = [{**item, "seq": {"S": "2"}} for item in items]
        assert store.insert_batch(changed) == ["refused", "inserted", "inserted"]
        too_long = {**items[0], "SK": {"S": "x" * 1025}}
        assert store.insert_batch([too_long, *items[:1]]) == ["refused", "refused"]
        with pytest.raises(RefusedError):
            store.insert_batch([{**items[0], "SK": {"S": str(n)}} for n in range(26)])
        numbers = {sk: (store.get(ItemKey("p", sk)) or {})["seq"]["S"] for sk in "abc"}
        assert numbers == {"a": "1", "b": "2", "c": "2"}
        assert store.get(ItemKey("p", "a")) == items[0]


def test_a_throttled_statement_is_not_refused() -> None:
    codes = ("ThrottlingError", "ProvisionedThroughputExceeded", "RequestLimitExceeded")
    for code in codes:
        assert read_insert_outcome({"Error": {"Code": code}}) == "throttled"
    for code in ("DuplicateItem", "InternalServerError", "AccessDenied", "TransactionConflict"):
        assert read_insert_outcome({"Error": {"Code": code}}) == "refused"
