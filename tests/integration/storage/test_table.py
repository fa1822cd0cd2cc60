"""The table gateway against a real DynamoDB interface."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from daicho.errors import (
    ConditionFailedError,
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
from daicho.storage.attributes import Image
from daicho.storage.botocore_errors import translate_error
from daicho.storage.item_key import ItemKey
from daicho.storage.requests import Delete, Put, Query, Update, read_insert_outcome
from daicho.storage.table import Table, open_table
from tests.support.memory_stores import MemoryTable


def item(pk: str, sk: str, **values: str) -> Image:
    return {"PK": {"S": pk}, "SK": {"S": sk}} | {name: {"S": v} for name, v in values.items()}


def test_what_is_put_is_got_with_its_numbers_exact(table: Table) -> None:
    digits = "12345678901234567890123456789012345678"
    stored = {**item("a", "b"), "n": {"N": digits}}
    assert table.put(stored) is None
    assert table.get(ItemKey("a", "b"), consistent=True) == stored
    assert table.get(ItemKey("a", "c")) is None


def test_a_refused_put_brings_the_item_that_stands_there(table: Table) -> None:
    table.put(item("a", "b", name="first"))
    with pytest.raises(ConditionFailedError) as refused:
        table.put(item("a", "b", name="second"), condition="attribute_not_exists(PK)")
    assert refused.value.item == item("a", "b", name="first")


def test_update_and_delete_give_what_they_are_asked_for(table: Table) -> None:
    key = ItemKey("a", "b")
    values = {":n": {"N": "2"}}
    new = table.update(key, "ADD #n :n", names={"#n": "n"}, values=values, returns="ALL_NEW")
    assert new == {**item("a", "b"), "n": {"N": "2"}}
    with pytest.raises(ConditionFailedError):
        table.delete(key, condition="#n = :n", names={"#n": "n"}, values={":n": {"N": "3"}})
    assert table.delete(key) == new
    assert table.delete(key) is None


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


@pytest.mark.dynoxide("capacity units")
def test_what_requests_take_is_counted(table: Table) -> None:
    metered = table.with_metering()
    metered.put(item("a", "1"))
    metered.transact([Put(item("a", "2")), Put(item("a", "3"))])
    metered.get(ItemKey("a", "1"), consistent=True)
    assert list(metered.query_pages(Query("a", consistent=True)))
    assert metered.units.take_total() == (2.0, 5.0)
    assert table.units.take_total() == (0.0, 0.0)


def test_pages_follow_each_other_to_the_end(table: Table) -> None:
    table.batch_write([item("p", f"{n:03d}", pad="x") for n in range(57)])
    pages = list(table.query_pages(Query("p", limit=20, consistent=True)))
    assert [page.count for page in pages] == [20, 20, 17]
    assert pages[-1].last is None
    assert [each["SK"]["S"] for page in pages for each in page.items] == [
        f"{n:03d}" for n in range(57)
    ]
    assert pages[0].units > 0


@pytest.mark.parametrize(
    ("bounds", "found"),
    [
        ({"prefix": "b"}, ["b1", "b2"]),
        ({"low": "b1", "high": "b2"}, ["b1", "b2"]),
        ({"low": "b2"}, ["b2", "c"]),
        ({"high": "b1"}, ["a", "b1"]),
        ({"below": "b1"}, ["a"]),
        ({"forward": False, "limit": 2}, ["c", "b2"]),
        ({"attributes": ("SK",)}, ["a", "b1", "b2", "c"]),
    ],
)
def test_bounds_of_a_query(table: Table, bounds: dict[str, Any], found: list[str]) -> None:
    table.batch_write([item("p", sk, GSI1PK="q", GSI1SK=sk) for sk in ("a", "b1", "b2", "c")])
    for index in (None, "GSI1"):
        page = table.query(Query("q" if index else "p", index=index, **bounds))
        assert [each["SK"]["S"] for each in page.items] == found
        assert page.count == len(found)


def test_a_count_reads_no_items(table: Table) -> None:
    table.batch_write([item("p", sk) for sk in "abc"])
    page = table.query(Query("p", count_only=True))
    assert (page.count, page.items) == (3, ())


def test_bounds_that_exclude_each_other_are_refused() -> None:
    with pytest.raises(ValueError, match="prefix"):
        Query("p", prefix="a", high="b").to_request()


def test_batches_of_any_size(table: Table) -> None:
    keys = [ItemKey("p", f"{n}") for n in range(230)]
    table.batch_write([item(key.pk, key.sk) for key in keys])
    found = table.batch_get([*keys, keys[0], ItemKey("p", "none")], consistent=True)
    assert set(found.require_all()) == set(keys)
    table.batch_write(deletes=keys[:200])
    assert set(table.batch_get(keys).items) == set(keys[200:])


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
