"""Derived items without the stream: what the projector will have written when it has caught up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mypy_boto3_dynamodb import DynamoDBClient

from daicho.derive import contributions, derived_items
from daicho.derive.contributions import Amount
from daicho.derive.derived_items import IndexRow
from daicho.layout import item_keys
from daicho.plan import Ledger
from daicho.query.totals import render_order
from daicho.storage import attributes, item_key
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey
from daicho.storage.table import Table
from daicho.tally import slots


def items_of(dynamodb: DynamoDBClient, table_name: str) -> Iterator[Image]:
    """Everything in the table."""
    for page in dynamodb.get_paginator("scan").paginate(TableName=table_name):
        yield from page["Items"]


def derive_all(dynamodb: DynamoDBClient, table_name: str, ledger: Ledger) -> None:
    """Write and remove derived rows until they are exactly what the base items derive."""
    wanted: dict[ItemKey, IndexRow] = {}
    standing: set[ItemKey] = set()
    for item in items_of(dynamodb, table_name):
        if (name := attributes.get_text(item, "type")) is not None:
            generation = attributes.get_integer(item, "gen") or 0
            wanted |= derived_items.compute_index_rows(
                ledger.find_enabled_plan(name, generation), item
            )
        elif "GSI2PK" in item:
            standing.add(item_key.get_key(item))
    puts = [row.to_item(key) for key, row in wanted.items()]
    Table(dynamodb, table_name).batch_write(puts, standing - set(wanted))


def count_all(dynamodb: DynamoDBClient, table_name: str, ledger: Ledger) -> None:
    """Write totals and one slot for each tally, as if all had been counted and rolled up."""
    amounts: dict[str, Amount] = {}
    tallies: dict[str, tuple[str, Any]] = {}
    for item in items_of(dynamodb, table_name):
        if (name := attributes.get_text(item, "type")) is not None:
            plan = ledger.find_enabled_plan(name, attributes.get_integer(item, "gen") or 0)
            for tally, amount in contributions.compute_contributions(plan, item).items():
                amounts[tally] = amounts.get(tally, Amount()) + amount
                tallies[tally] = (name, plan)
    written: list[Image] = []
    for tally, amount in amounts.items():
        counted = {"items": {"N": str(amount.items)}, "total": {"N": str(amount.total)}}
        slot = slots.build_slot_key(tally, "single")
        written.append({"PK": {"S": tally}, "SK": {"S": slot.sk}, **counted})
        written.append({"PK": {"S": tally}, "SK": {"S": "total"}, **counted})
        named = slots.TallyName.parse(tally)
        name, plan = tallies[tally]
        _, aggregate = ledger.find_aggregate(name, named.aggregate, named.since)
        if aggregate.ranked:
            inner = len(aggregate.within)
            within, by = named.parts[:inner], named.parts[inner:]
            partition = item_keys.render_ranking_partition(
                named.tenant, plan, aggregate, within, by
            )
            written[-1] = {
                **written[-1],
                "GSI3PK": {"S": partition},
                "GSI3SK": {"S": render_order(amount, by)},
            }
    Table(dynamodb, table_name).batch_write(written)
