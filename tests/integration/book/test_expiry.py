"""The expiry of items over a real DynamoDB interface: writes set, move and remove the ``ttl``."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from daicho.book.book import Book
from daicho.errors import Conflict, NotFound
from daicho.storage.table import Table
from daicho.testing.clock import SimulatedClock
from daicho_cli.local.ttl_process import delete_expired
from tests.delivery.expiring_entities import LEDGER, RIGHT_TTLS, Bill, Booking, Draft, Ticket, Visit

TOMORROW = dt.date(2026, 11, 22)


class Shop:
    """A table, and the Book on it at a time that moves."""

    def __init__(self, dynamodb: DynamoDBClient, name: str) -> None:
        self.clock, self.dynamodb, self.name = SimulatedClock(), dynamodb, name
        self.book = Book(Table(dynamodb, name), LEDGER, "t", clock=self.clock.now)

    def read_ttl(self) -> int | None:
        """The ``ttl`` of the only item, which is the right one."""
        (image,) = self.dynamodb.scan(TableName=self.name)["Items"]
        right = RIGHT_TTLS[image["type"]["S"]](image)
        assert image.get("ttl") == (None if right is None else {"N": str(right)})
        return right

    def expire(self) -> int:
        """The TTL process of the local stack, at the time of the Book."""
        return delete_expired(self.dynamodb, self.name, self.clock.now().timestamp())


@pytest.fixture
def shop(dynamodb: DynamoDBClient, table_name: str) -> Shop:
    return Shop(dynamodb, table_name)


def test_a_condition_sets_and_removes_the_expiry(shop: Shop) -> None:
    shop.book.put(Bill(id="1", due=TOMORROW))
    assert shop.read_ttl() is None
    shop.book.change(Bill.key("1"), {"status": "void"})
    assert shop.read_ttl() is not None
    shop.book.put(Bill(id="1", due=TOMORROW))
    assert shop.read_ttl() is None
    shop.book.put(Bill(id="1", due=TOMORROW + dt.timedelta(days=1), status="void"))
    first = shop.read_ttl()
    shop.book.change(Bill.key("1"), {"due": TOMORROW + dt.timedelta(days=2)})
    assert first is not None and shop.read_ttl() == first + 86_400
    assert shop.book.get(Bill.key("1")).version == 5


def test_a_put_counts_from_the_creation_of_the_stored_item(shop: Shop) -> None:
    shop.book.put(Draft(id="1", status="void"))
    began = int(shop.clock.now().timestamp())
    shop.clock.advance(100)
    shop.book.put(Draft(id="1", status="open"))
    assert shop.read_ttl() == began + 180
    shop.clock.advance(10)
    shop.book.put(Draft(id="1", status="open", text="again"))
    assert shop.read_ttl() == began + 180
    shop.clock.advance(100)
    with pytest.raises(Conflict, match="waits for the archive"):
        shop.book.put(Draft(id="1", status="void"))
    assert shop.expire() == 1
    assert shop.book.put(Draft(id="1", status="void")).version == 1


@pytest.mark.parametrize("entity", [Visit, Ticket])
def test_each_write_moves_an_expiry_from_the_last_change(shop: Shop, entity: Any) -> None:
    shop.book.create(entity(id="1", status="void"))
    first = shop.read_ttl()
    assert first is not None
    shop.clock.advance(60)
    shop.book.put(entity(id="1", status="void"))
    assert shop.read_ttl() == first + 60
    shop.clock.advance(60)
    with shop.book.transaction() as transaction:
        transaction.change(entity.key("1"), {"text": "new"})
    assert shop.read_ttl() == first + 120
    assert shop.expire() == 0


def test_an_expired_item_is_not_un_expired(shop: Shop) -> None:
    at = shop.clock.now() + dt.timedelta(seconds=10)
    shop.book.create(Booking(id="1", at=at))
    shop.clock.advance(70)
    later = {"at": shop.clock.now() + dt.timedelta(hours=1)}
    assert shop.book.find(Booking.key("1")) is None
    with pytest.raises(NotFound):
        shop.book.change(Booking.key("1"), later)
    with pytest.raises(NotFound):
        shop.book.delete(Booking.key("1"))
    shop.book.create(Visit(id="1", status="void"))
    shop.clock.advance(200)
    assert shop.book.put(Visit(id="1", status="open")).version == 1
