"""The conditions and updates that writes are sent with."""

from __future__ import annotations

import datetime as dt

import pytest

from daicho.errors import TransactionFailedError
from daicho.storage.attributes import ItemKey, to_image
from daicho.write.conditions import build_creation
from tests.support.memory_stores import MemoryTable

KEY = ItemKey("p", "s")


def at(seconds: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(seconds, dt.UTC)


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
