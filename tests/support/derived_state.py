"""Derived items without the stream: what the projector will have written when it has caught up."""

from __future__ import annotations

from collections.abc import Iterator

from mypy_boto3_dynamodb import DynamoDBClient

from daicho.derive.contributions import Amount
from daicho.plan import Ledger
from daicho.storage import attributes
from daicho.storage.attributes import Image, to_image
from daicho.storage.table import Table
from daicho.tally import slots
from daicho.tally.rankings import build_ranking_key
from tests.support.consistency import compute_amounts, compute_rows, list_base_items


def items_of(dynamodb: DynamoDBClient, table_name: str) -> Iterator[Image]:
    """Everything in the table."""
    for page in dynamodb.get_paginator("scan").paginate(TableName=table_name):
        yield from page["Items"]


def derive_all(dynamodb: DynamoDBClient, table_name: str, ledger: Ledger) -> None:
    """Write and remove derived rows until they are exactly what the base items derive."""
    items = list(items_of(dynamodb, table_name))
    wanted = compute_rows(list_base_items(items), ledger)
    rows = (item for item in items if "type" not in item and "GSI2PK" in item)
    standing = {attributes.get_key(item) for item in rows}
    puts = [row.to_item(key) for key, row in wanted.items()]
    Table(dynamodb, table_name).batch_write(puts, standing - set(wanted))


def count_all(dynamodb: DynamoDBClient, table_name: str, ledger: Ledger) -> None:
    """Write totals and one slot for each tally, as if all had been counted and rolled up."""
    base = list_base_items(items_of(dynamodb, table_name))
    written: list[Image] = []
    for tally, amount in compute_amounts(base, ledger).items():
        written += make_counted(tally, amount, ledger, "single")
    Table(dynamodb, table_name).batch_write(written)


def make_counted(
    tally: str, amount: Amount, ledger: Ledger, shard: str, **more: str | int
) -> tuple[Image, Image]:
    """The slot of a tally, with ``more`` attributes, and its total."""
    name = slots.TallyName.parse(tally)
    plan, aggregate = ledger.find_aggregate(name.entity, name.aggregate, name.since)
    held = {"PK": tally, "items": amount.items, "total": amount.total, "rev": 1}
    slot = {**held, "SK": slots.build_slot_key(tally, shard).sk, **more}
    place = build_ranking_key(name, plan, aggregate, amount)
    ranked = {"GSI3PK": place.pk, "GSI3SK": place.sk} if place else {}
    return to_image(slot), to_image({**held, "SK": "total", **ranked})
