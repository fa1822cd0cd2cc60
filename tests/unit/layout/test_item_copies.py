"""The image of a copy."""

from __future__ import annotations

from daicho.errors import TransactionFailedError
from daicho.layout.item_copies import (
    build_copy,
    describe_key,
    parse_origin,
    put_copy,
    remove_copy,
    replace_copy,
)
from daicho.plan import EntityPlan, ExpiryPlan, Generation, KeyPlan
from daicho.plan.expiry import CHANGED_AT
from daicho.storage.attributes import to_image
from daicho.storage.item_key import get_key
from daicho.storage.requests import Write
from daicho.storage.scales import SCALES, to_scales_value
from tests.support.memory_stores import MemoryTable

EDGE = KeyPlan(("team",), ("name",), edge=True)
PERSON = Generation(
    3,
    EntityPlan(
        "Person", {"name": "str", "team": "str"}, EDGE, expires=ExpiryPlan(60, archive=False)
    ),
)
IMAGE = to_image(
    {
        **{"PK": "t#User#1", "SK": "-", "type": "User", "gen": 2, "version": 4, "ttl": 77},
        **{"id": "1", "name": "Ada", "team": "a", "created_at": "2026-11-21T01:05:40.123456Z"},
        **{"_restored": "x", "GSI1PK": "p", "GSI1SK": "s"},
    }
)


def test_a_copy_has_the_fields_and_stamps_of_its_item() -> None:
    copy = build_copy(IMAGE, PERSON)
    assert copy == to_image(
        {
            **{"PK": "t#Person#a", "SK": "Ada", "type": "Person", "gen": 3, "version": 4},
            **{"ttl": 77, "id": "1", "name": "Ada", "team": "a"},
            **{"created_at": "2026-11-21T01:05:40.123456Z", "_copy_of": "t$23User$231#-"},
            **{"GSI1PK": "t#Person#Ada", "GSI1SK": "a"},
        }
    )
    assert parse_origin(copy) == get_key(IMAGE)
    assert parse_origin(IMAGE) is None
    assert (describe_key(get_key(IMAGE)), describe_key(get_key(copy))) == ("User 1", "Person a/Ada")
    without = {name: value for name, value in IMAGE.items() if name != "ttl"}
    assert "ttl" not in build_copy(without, PERSON)
    changed = {CHANGED_AT: {"S": "2026-11-22T00:00:00.000000Z"}}
    assert build_copy({**IMAGE, **changed}, PERSON) == {**copy, **changed}


def try_write(table: MemoryTable, write: Write) -> bool:
    try:
        table.transact([write])
    except TransactionFailedError:
        return False
    return True


def test_a_copy_is_written_only_over_the_copy_that_is_expected() -> None:
    copy, table = build_copy(IMAGE, PERSON), MemoryTable()
    next_copy = {**copy, "version": {"N": "5"}}
    other = {**copy, "_copy_of": {"S": "other#-"}}
    assert not try_write(table, replace_copy(next_copy, copy))
    assert try_write(table, put_copy(copy))
    assert not try_write(table, put_copy(other))
    assert try_write(table, put_copy(other, over_expired=77))
    table.batch_write([copy])
    assert not try_write(table, put_copy(other, over_expired=76))
    assert try_write(table, replace_copy(next_copy, copy))
    assert not try_write(table, remove_copy(copy))
    assert try_write(table, put_copy(copy))
    assert try_write(table, remove_copy(copy))
    assert dict(table.items) == {}


def test_a_copy_has_the_scales_of_its_item() -> None:
    scales = to_scales_value({"price": 2})
    assert build_copy({**IMAGE, SCALES: scales}, PERSON)[SCALES] == scales
