"""The conditions and updates that writes are sent with."""

from __future__ import annotations

import datetime as dt

import pytest

from daicho.errors import TransactionFailedError
from daicho.storage.attributes import Image, to_image
from daicho.storage.item_key import ItemKey
from daicho.write.conditions import ExpiryRule, build_creation, build_removal, build_replacement
from tests.support.memory_stores import MemoryTable

KEY = ItemKey("p", "s")


def at(seconds: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(seconds, dt.UTC)


def test_the_requests_of_a_write() -> None:
    image: Image = {"PK": {"S": "p"}, "SK": {"S": "s"}, "version": {"N": "1"}, "f": {"S": "f"}}
    new = {**image, "created_at": {"S": "now"}}
    put = build_creation(new, at(5), replaces_expired=True)
    assert put.item == new
    assert put.condition == "attribute_not_exists(#n0) OR #n1 <= :0 AND #n2 <> :1"
    assert put.names == {"#n0": "PK", "#n1": "ttl", "#n2": "created_at"}
    assert put.values == {":0": {"N": "5"}, ":1": {"S": "now"}}
    put = build_creation(image, at(5), replaces_expired=False)
    assert put.condition == "attribute_not_exists(#n0)"
    delete = build_removal(KEY, 5, 3)
    assert delete.key == KEY
    assert delete.condition == (
        "attribute_exists(#n1) AND (attribute_not_exists(#n0) OR #n0 > :0) AND #n2 = :1"
    )
    kept = {"f": image["f"]}
    write = build_replacement(
        KEY, image, absent=["due"], unchanged=kept, expiry=ExpiryRule(), if_match=None
    )
    assert write.update == ("SET #n0 = if_not_exists(#n0, :1) + :0, #n1 = :2 REMOVE #n2, #n3")
    assert write.condition == "attribute_not_exists(#n4) OR (#n1 = :3)"
    assert list(write.names.values()) == ["version", "f", "due", "ttl", "PK"]
    write = build_replacement(
        KEY,
        image,
        absent=(),
        unchanged=kept,
        expiry=ExpiryRule(),
        if_match=None,
        must_exist=True,
    )
    assert write.condition == (
        "attribute_exists(#n3) AND (attribute_not_exists(#n3) OR (#n1 = :3))"
    )
    write = build_replacement(KEY, image, absent=(), unchanged={}, expiry=ExpiryRule(9), if_match=4)
    assert write.condition == "#n0 = :4 AND (attribute_not_exists(#n2) OR #n2 > :3)"


def test_a_repeated_creation_does_not_replace_its_own_expired_item() -> None:
    """As the SDK repeats a request whose answer was lost, while others change the new item."""
    table = MemoryTable()
    image = to_image({"PK": "p", "SK": "s", "created_at": "now", "state": "open"})
    creation = build_creation(image, at(100), replaces_expired=True)
    table.transact([creation])
    expired = image | to_image({"state": "void", "ttl": 99})
    table.put(expired)
    with pytest.raises(TransactionFailedError):
        table.transact([creation])
    another = build_creation(
        image | to_image({"created_at": "later"}), at(100), replaces_expired=True
    )
    table.transact([another])
    assert table.get(KEY) == another.item
