"""The writes of copies that belong to the changes of a transaction."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from daicho.errors import Conflict, Invalid, TransactionFailedError
from daicho.layout.item_copies import build_copy
from daicho.storage.attributes import Image, to_image
from daicho.storage.item_key import get_key
from daicho.storage.requests import Delete, Put, Write
from daicho.write.copy_writer import CopyWriter, explain_refusal, is_copied
from tests.support.copied_members import COPIED, SWITCHED, number
from tests.support.memory_stores import MemoryTable
from tests.support.sample_members import PLAIN

LEDGER = number(PLAIN, COPIED)
PERSON = LEDGER.newest_generation("Person")
NOW = dt.datetime(2026, 11, 23, tzinfo=dt.UTC)
PAST, FUTURE = int(NOW.timestamp()) - 1, int(NOW.timestamp()) + 1


def build_member(id: str, name: str, **values: Any) -> Image:
    given = {"gen": 2, "version": 1, "team": "a", "created_at": "2026-11-21T01:05:40.123456Z"}
    key = {"PK": f"t#Member#{id}", "SK": "-", "type": "Member", "id": id, "name": name}
    return to_image({**key, **given, **values})


def build_writes(table: MemoryTable, *changes: tuple[Image | None, Image | None]) -> list[Write]:
    return CopyWriter(LEDGER, table).build_writes(changes, NOW)


def store_copies(*members: Image) -> MemoryTable:
    table = MemoryTable()
    table.batch_write([build_copy(member, PERSON) for member in members])
    return table


def list_names(table: MemoryTable) -> dict[str, str]:
    return {key.pk.split("#")[2]: item["_copy_of"]["S"] for key, item in table.items.items()}


def test_only_code_of_the_copy_writes_copies() -> None:
    assert is_copied(LEDGER, "Member")
    assert not is_copied(LEDGER, "Person")
    assert not is_copied(number(PLAIN, COPIED, SWITCHED), "Member")
    assert build_writes(MemoryTable(), (None, to_image({"PK": "t#x", "SK": "-"}))) == []


def test_two_items_swap_the_keys_of_their_copies_in_one_transaction() -> None:
    one, two = build_member("1", "Ada"), build_member("2", "Bob")
    table = store_copies(one, two)
    after = build_member("1", "Bob", version=2), build_member("2", "Ada", version=2)
    table.transact(build_writes(table, (one, after[0]), (two, after[1])))
    assert list_names(table) == {"Ada": "t$23Member$232#-", "Bob": "t$23Member$231#-"}


def test_two_items_cannot_have_the_same_copy() -> None:
    with pytest.raises(Conflict, match="two items of Member would have the same key in Person"):
        build_writes(
            MemoryTable(), (None, build_member("1", "Ada")), (None, build_member("2", "Ada"))
        )


def test_the_copy_of_a_current_item_is_expected_in_its_version() -> None:
    one, table = build_member("1", "Ada"), MemoryTable()
    writes = build_writes(table, (one, build_member("1", "Ada", version=2)))
    with pytest.raises(TransactionFailedError) as failed:
        table.transact(writes)
    assert explain_refusal(writes, failed.value) is None
    (removal,) = build_writes(table, (one, None))
    assert isinstance(removal, Delete)


def test_items_of_before_may_have_no_copy_or_an_older_one() -> None:
    older = build_member("1", "Ada", gen=1, version=7)
    table = store_copies(build_member("1", "Ada"))
    table.transact(build_writes(table, (older, build_member("1", "Ada", version=8))))
    table.transact(build_writes(table, (older, None)))
    assert dict(table.items) == {}
    assert build_writes(table, (older, None)) == []


@pytest.mark.parametrize("name", ["Ada", "Bob"])
def test_an_expired_item_is_replaced_whether_its_copy_is_left_or_not(name: str) -> None:
    expired = build_member("1", "Ada", ttl=PAST)
    for table in (store_copies(expired), MemoryTable()):
        table.transact(build_writes(table, (expired, build_member("1", name, ttl=FUTURE))))
        assert list(list_names(table)) == [name]


def test_a_key_that_is_taken_is_named() -> None:
    table = store_copies(build_member("1", "Ada"))
    writes = build_writes(table, (None, build_member("2", "Ada")))
    with pytest.raises(TransactionFailedError) as failed:
        table.transact(writes)
    refusal = explain_refusal(writes, failed.value)
    assert "Person Ada is the copy of Member 1" in str(refusal)
    taken = to_image({"PK": "t#Person#Eve", "SK": "-", "version": 1})
    table.batch_write([taken])
    (put,) = build_writes(table, (None, build_member("3", "Eve")))
    assert isinstance(put, Put)
    assert get_key(put.item) == get_key(taken)
    with pytest.raises(TransactionFailedError) as failed:
        table.transact([put])
    assert "Person Eve is no copy" in str(explain_refusal([put], failed.value))


def test_an_item_that_cannot_have_a_copy_is_refused() -> None:
    with pytest.raises(Invalid):
        build_writes(MemoryTable(), (None, build_member("1", "")))
