"""Items of an older generation under newer declarations: one-line changes must not break them."""

from __future__ import annotations

import datetime as dt

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from daicho import Domain, Entity, Key, Listing, Search, field, uid
from daicho.book.book import Book
from daicho.declare.registry import Daicho
from daicho.errors import Invalid
from daicho.layout.backfill_state import BackfillState
from daicho.plan import Ledger
from daicho.storage.table import Table
from tests.support.derived_state import derive_all

NOON = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)


def before() -> type[Entity]:
    class Memo(Entity):
        id: str = uid()
        text: str = field()
        stage: str | None = field(default=None)

        key = Key(id)
        staged = Listing(stage)

    return Memo


def after() -> type[Entity]:
    class Memo(Entity):
        id: str = uid()
        text: str = field(min_length=3)
        author: str | None = field(default=None)
        read: bool = field(default=False)
        by: str | None = field(default=None, frozen=True)

        key = Key(id)
        search = Search(text)
        of_author = Listing(author)

    return Memo


OLD, NEW = before(), after()
FIRST = Daicho(Domain("test", OLD)).append_generations(Ledger())
BOTH = Daicho(Domain("test", NEW)).append_generations(FIRST)


class Times:
    """The table under both generations of the code."""

    def __init__(self, dynamodb: DynamoDBClient, name: str) -> None:
        self.dynamodb, self.name = dynamodb, name
        table = Table(dynamodb, name)
        self.old = Book(table, FIRST, "t", clock=lambda: NOON)
        self.new = Book(table, BOTH, "t", clock=lambda: NOON)

    def caught_up(self) -> None:
        derive_all(self.dynamodb, self.name, BOTH)

    def complete(self) -> None:
        """The newer declarations include every item from now on."""
        item = BackfillState("Memo", oldest=2, newest=2).to_item()
        self.dynamodb.put_item(TableName=self.name, Item=item)
        self.new = Book(Table(self.dynamodb, self.name), BOTH, "t", clock=lambda: NOON)


@pytest.fixture
def times(dynamodb: DynamoDBClient, table_name: str) -> Times:
    return Times(dynamodb, table_name)


def test_what_newer_limits_would_refuse_can_still_be_read_and_replaced(times: Times) -> None:
    for id, text in (("long", "long text " * 40), ("short", "x"), ("fine", "fine")):
        times.old.create(OLD(id=id, text=text, stage="open"))
    times.caught_up()
    assert times.new.get(NEW.key("long")).text == "long text " * 40  # type: ignore[attr-defined]
    assert times.new.get(NEW.key("short")).text == "x"  # type: ignore[attr-defined]
    assert times.new.get(NEW.key("fine")).author is None  # type: ignore[attr-defined]
    assert [each.id for each in times.new.page(NEW.search("")).items] == []  # type: ignore[attr-defined]
    with pytest.raises(Invalid) as error:
        times.new.change(NEW.key("short"), {"author": "me"})  # type: ignore[attr-defined]
    assert error.value.field == "text"
    changed = times.new.change(NEW.key("fine"), {"author": "me"})  # type: ignore[attr-defined]
    assert (changed.version, changed.author) == (2, "me")
    times.new.put(NEW(id="long", text="shorter", author="me"))
    times.caught_up()
    times.complete()
    assert [each.id for each in times.new.page(NEW.of_author("me")).items] == ["long", "fine"]  # type: ignore[attr-defined]
    times.new.delete(NEW.key("short"))  # type: ignore[attr-defined]
