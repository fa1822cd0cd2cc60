"""The table in memory of the delivery tests does what a real DynamoDB interface does."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from typing import Any

from mypy_boto3_dynamodb import DynamoDBClient

from daicho.derive import Amount, ItemKey
from daicho.errors import ConditionFailedError
from daicho.images import Image, number
from daicho.requests import Query
from daicho.table import Table
from daicho.tally import slots
from tests.delivery.memory import MemoryTable
from tests.ledgers import tally

TALLY = tally("Song", "count", 1)
NOW = dt.datetime(2026, 11, 21, tzinfo=dt.UTC)


def changes(rng: random.Random) -> Callable[[Any], Any]:
    """One of the operations that the stream path uses, with values drawn."""
    key = slots.slot_key(TALLY, rng.choice("ab"))
    seq, last = sorted(rng.choices("123456789", k=2))
    amount = Amount(rng.randint(-2, 2), number(rng.choice(("0", "-1", "2.5", "1e20"))))
    change = rng.choice(
        (
            slots.adding(key, amount, seq, last, dirty_shards=1, now=NOW),
            slots.cleaning(slot(key, rng)),
            slots.totalling(TALLY, amount, rng.randint(0, 2), None),
            slots.totalling(TALLY, amount, rng.randint(0, 2), ItemKey("ranking", "0")),
        )
    )
    folding = slots.folding(TALLY, [slot(key, rng)])
    item: Image = {"PK": {"S": "d"}, "SK": {"S": rng.choice("xy")}, "seq": {"S": seq}}
    fenced = {"condition": f"{slots.FENCE}:seq", "values": {":seq": {"S": seq}}}
    return rng.choice(
        (
            lambda table: table.put(item, **fenced),
            lambda table: table.transact(folding),
            lambda table: table.update(
                change.key,
                change.update,
                condition=change.condition,
                names=change.names,
                values=change.values,
            ),
        )
    )


def slot(key: ItemKey, rng: random.Random) -> Image:
    """A slot as somebody may have read it."""
    at = {"at": {"N": str(int(NOW.timestamp()))}} if rng.random() < 0.9 else {}
    counted = {"items": {"N": "1"}, "total": {"N": "1"}, "rev": {"N": str(rng.randint(1, 3))}}
    return {"PK": {"S": key.pk}, "SK": {"S": key.sk}, **counted, **at}


def outcome(change: Callable[[Any], Any], table: Any) -> Any:
    try:
        return change(table)
    except ConditionFailedError as refused:
        return ("refused", plain(refused.item))


def plain(item: Image | None) -> Any:
    """An item with its numbers as numbers: DynamoDB writes 2 where memory has 2.0."""
    if item is None:
        return None
    return {
        name: number(value["N"]) if "N" in value else value["S"] for name, value in item.items()
    }


def test_any_operations_have_the_same_outcomes(dynamodb: DynamoDBClient, table_name: str) -> None:
    rng = random.Random(20261121)
    real, memory = Table(dynamodb, table_name), MemoryTable()
    for _ in range(400):
        change = changes(rng)
        assert outcome(change, real) == outcome(change, memory)
    for query in (Query(TALLY, consistent=True), Query("d"), Query("#dirty#0", index="GSI2")):
        found, expected = (
            [item for page in table.pages(query) for item in page.items] for table in (real, memory)
        )
        keys = [item["SK"] for item in expected]
        assert [item["SK"] for item in found] == keys
        if query.index is None:
            assert [plain(item) for item in found] == [plain(item) for item in expected]
