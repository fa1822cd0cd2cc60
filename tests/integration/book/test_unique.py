"""Unique values over a real DynamoDB interface: every write, takeover and lookup."""

from __future__ import annotations

from typing import Any

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from daicho.errors import Conflict, Invalid, NotFound, NotUnique, Raced
from daicho.storage.attributes import get_key
from daicho.storage.table import Table
from tests.support.account_domains.accounts import Account, Article, Pass, Seat
from tests.support.unique_accounts import Accounts


@pytest.fixture
def accounts(dynamodb: DynamoDBClient, table_name: str) -> Accounts:
    return Accounts(dynamodb, table_name)


def test_a_value_is_refused_while_another_item_has_it(accounts: Accounts) -> None:
    book = accounts.book()
    book.create(Account(id="1", email="Ada@Example.com"))
    for write in (book.create, book.put):
        with pytest.raises(NotUnique, match="another Account has this value of email") as refused:
            write(Account(id="2", email="ada@example.COM"))
        assert refused.value.field == "email"
        assert "Ada" not in str(refused.value)
    book.create(Account(id="2", email="bob@example.com"))
    with pytest.raises(NotUnique):
        book.change(Account.key("2"), {"email": "ADA@example.com"})
    accounts.book("two").create(Account(id="1", email="ada@example.com"))
    book.create(Account(id="3"))
    book.create(Account(id="4"))
    assert accounts.check().items == 3


def test_the_scope_and_several_fields_together(accounts: Accounts) -> None:
    book = accounts.book()
    book.create(Account(id="1", org="acme", handle="ada"))
    book.create(Account(id="2", org="globex", handle="ada"))
    book.create(Account(id="3", org="acme", handle="Ada"))  # not folded
    with pytest.raises(NotUnique, match="of handle, within the same org"):
        book.change(Account.key("2"), {"org": "acme"})
    assert book.get(Account.handle_is_unique("globex", "ada")).id == "2"
    book.create(Pass(id="1", number=1, colour="red"))
    book.create(Pass(id="2", number=1, colour="blue"))
    with pytest.raises(NotUnique, match="these values of number and colour"):
        book.create(Pass(id="3", number=1, colour="red"))
    assert book.get(Pass.numbered(1, "blue")).id == "2"
    accounts.check()


def test_two_items_swap_their_values_in_one_transaction(accounts: Accounts) -> None:
    book = accounts.book()
    book.create(Account(id="1", email="a@x"))
    book.create(Account(id="2", email="b@x"))
    with book.transaction():
        book.change(Account.key("1"), {"email": "b@x"})
        book.change(Account.key("2"), {"email": "a@x"})
    assert book.get(Account.email_is_unique("a@x")).id == "2"
    with book.transaction():
        book.delete(Account.key("2"))
        book.create(Account(id="3", email="a@x"))
    assert book.get(Account.email_is_unique("a@x")).id == "3"
    with pytest.raises(NotUnique), book.transaction():
        book.create(Account(id="4", email="d@x"))
        book.create(Account(id="5", email="D@x"))
    with pytest.raises(NotUnique), book.transaction():
        book.change(Account.key("1"), {"note": "kept"})
        book.create(Account(id="6", email="b@x"))
    accounts.check()


def test_an_item_moves_with_its_value(accounts: Accounts) -> None:
    book = accounts.book()
    book.create(Seat(room="r", place="a", holder="Ada"))
    book.change(Seat.key("r", "a"), {"place": "b"})
    assert book.get(Seat.one_seat("aDA")).place == "b"
    with pytest.raises(NotUnique):
        book.create(Seat(room="r", place="a", holder="ada"))
    book.change(Seat.key("r", "b"), {"place": "c", "holder": "Bob"})
    book.create(Seat(room="r", place="a", holder="ada"))
    accounts.check()


def test_versions_are_restored_with_their_value(accounts: Accounts) -> None:
    book = accounts.book()
    book.create(Article(id="1", slug="one"))
    book.change(Article.key("1"), {"slug": "uno"})
    book.create(Article(id="2", slug="one"))
    with pytest.raises(NotUnique):
        book.restore(Article.versions.at("1", version=1))
    book.delete(Article.key("2"))
    assert book.restore(Article.versions.at("1", version=1)).slug == "one"
    assert book.find(Article.slug_is_unique("uno")) is None
    book.delete(Article.key("1"))
    book.create(Article(id="3", slug="one"))
    with pytest.raises(NotUnique):
        book.restore(Article.versions.at("1", version=1))
    accounts.check()


@pytest.mark.parametrize("deleted", ["neither", "the item", "the reservation", "both"])
def test_the_value_of_an_expired_item_is_taken_over(accounts: Accounts, deleted: str) -> None:
    """DynamoDB deletes the item and its reservation in any order, and late."""
    book = accounts.book()
    book.create(Pass(id="1", number=1))
    accounts.tick(days=7)
    for image in accounts.everything():
        kind = "the item" if "type" in image else "the reservation"
        if deleted in (kind, "both"):
            accounts.table.delete(get_key(image))
    assert book.find(Pass.numbered(1, "red")) is None
    book.create(Pass(id="2", number=1))
    assert book.get(Pass.numbered(1, "red")).id == "2"
    with pytest.raises(NotUnique):
        book.create(Pass(id="3", number=1))
    assert accounts.check().unowned == []


def test_a_reservation_without_owner_is_taken_over(accounts: Accounts) -> None:
    book = accounts.book()
    book.create(Account(id="1", email="a@x"))
    (base,) = (get_key(image) for image in accounts.everything() if "type" in image)
    accounts.table.delete(base)
    assert len(accounts.compare().unowned) == 1
    book.create(Account(id="2", email="b@x"))
    book.change(Account.key("2"), {"email": "a@x"})
    assert accounts.check().unowned == []


def test_a_takeover_fails_if_the_owner_comes_back(
    accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the read of the missing owner and the transaction, another writer creates it."""
    book = accounts.book()
    book.create(Account(id="1", email="a@x"))
    (base,) = (image for image in accounts.everything() if "type" in image)
    accounts.table.delete(get_key(base))
    get = Table.get

    def get_late(self: Table, key: Any, **options: Any) -> Any:
        found = get(self, key, **options)
        if key == get_key(base) and found is None:
            self.put(base)
        return found

    monkeypatch.setattr(Table, "get", get_late)
    with pytest.raises(NotUnique):
        book.create(Account(id="2", email="a@x"))
    monkeypatch.undo()
    accounts.check()


def test_a_change_of_other_fields_writes_no_reservation(
    accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = accounts.book()
    book.create(Account(id="1", email="a@x", handle="ada"))
    monkeypatch.setattr(Table, "transact", None)
    book.change(Account.key("1"), {"note": "changed", "email": "A@X"})
    monkeypatch.undo()
    assert book.get(Account.email_is_unique("a@x")).version == 2
    accounts.check()


def test_a_lookup_in_a_transaction_holds_until_its_end(accounts: Accounts) -> None:
    book = accounts.book()
    book.create(Account(id="1", email="a@x"))
    with book.transaction() as transaction:
        assert transaction.find(Account.email_is_unique("b@x")) is None
        book.change(Account.key("1"), {"email": "b@x"})
        assert transaction.get(Account.email_is_unique("b@x")).id == "1"
        assert book.get(Account.email_is_unique("b@x")).id == "1"
        assert transaction.find(Account.email_is_unique("a@x")) is None
    with pytest.raises(Raced), book.transaction() as transaction:
        assert transaction.find(Account.email_is_unique("c@x")) is None
        accounts.book().create(Account(id="2", email="c@x"))
        transaction.create(Account(id="3"))
    with pytest.raises(NotFound, match="no Account of email d@x"), book.transaction() as t:
        t.get(Account.email_is_unique("d@x"))
    accounts.check()


def test_values_that_cannot_be_reserved_are_refused(accounts: Accounts) -> None:
    book = accounts.book()
    with pytest.raises(Invalid, match="because its value is unique") as refused:
        book.create(Account(id="1", handle="x" * 3000))
    assert refused.value.field == "handle"
    with pytest.raises(Invalid) as refused:
        book.find(Account.email_is_unique(7))
    assert refused.value.field == "email"
    with pytest.raises(Invalid, match="items without one are not found"):
        book.find(Account.email_is_unique(None))
    with pytest.raises(TypeError, match="read by get or find"):
        book.delete(Account.email_is_unique("a@x"))
    with pytest.raises(TypeError, match="takes 2 values"):
        Account.handle_is_unique("ada")
    with pytest.raises(Conflict):
        book.create(Account(id="1"))
        book.create(Account(id="1"))
