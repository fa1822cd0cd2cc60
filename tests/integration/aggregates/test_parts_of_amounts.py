"""Parts of amounts: added up exactly, counted in slots, rolled up, folded, and removed at 0."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from typing import Any

from mypy_boto3_dynamodb import DynamoDBClient

from daicho.derive.contributions import Amount, Parts, sum_amounts
from daicho.plan.figures.figure_plans import PART_PREFIX
from daicho.storage.attributes import Image
from daicho.storage.protocols import try_put
from daicho.storage.table import Table
from daicho.tally import slots, total_items
from daicho.tally.reader import read_live_amount, read_rolled_up_amount, read_slots, sum_slots

TALLY = "acme#+Sale.by_day#1#2026-11-24"
NOW = dt.datetime(2026, 11, 24, tzinfo=dt.UTC)


def make_parts(**values: int) -> Parts:
    return tuple((name, Decimal(value)) for name, value in sorted(values.items()))


def test_parts_are_added_by_name_and_vanish_at_zero() -> None:
    one, other = Amount(1, Decimal(2), make_parts(q=4, s=2)), Amount(1, Decimal(3), make_parts(s=3))
    assert one + other == Amount(2, Decimal(5), make_parts(q=4, s=5))
    assert one + -one == Amount()
    assert not one + -one
    assert sum_amounts([one, other, -one]) == other
    assert Amount(0, Decimal(0), make_parts(s=1))
    assert one.get_part("q") == Decimal(4)
    assert one.get_part("x") == Decimal(0)


def test_slots_totals_and_bases_keep_every_part(dynamodb: DynamoDBClient, table_name: str) -> None:
    """A plain sum by name is the judge, over random amounts, rollups and folds."""
    chance, table = random.Random(1), Table(dynamodb, table_name)
    expected: dict[str, int] = {}
    now, number = NOW, 0

    def read_total() -> Image:
        return table.get(total_items.build_total_key(TALLY), consistent=True) or {}

    def roll_up() -> None:
        total = read_total() or None
        slot_items = read_slots(table, TALLY)
        amount = total_items.read_base(total) + sum_slots(slot_items)
        write = total_items.write_total(TALLY, total, amount, None)
        assert try_put(table, write)
        assert not try_put(table, write)  # its revision is not the one that it has read any more
        for slot in slot_items:
            if "GSI2PK" in slot:
                send(table, slots.clear_dirty_mark(slot))

    for _ in range(60):
        shard, now = chance.choice("abc"), now + dt.timedelta(hours=chance.choice((1, 20)))
        values = {name: chance.randrange(-3, 4) for name in chance.sample("pqrs", 2)}
        parts = make_parts(**{name: value for name, value in values.items() if value})
        amount = Amount(1, Decimal(chance.randrange(9)), parts)
        first, last = f"{number:05}", f"{number + 1:05}"
        number += 2
        key = (slots.build_slot_key if chance.random() < 0.7 else slots.build_kept_key)(
            TALLY, shard
        )
        send(table, slots.add_delta(key, amount, first, last, dirty_shards=1, now=now))
        for name, value in values.items():
            expected[name] = expected.get(name, 0) + value
        if chance.random() < 0.5:
            roll_up()
            idle = [slot for slot in read_slots(table, TALLY) if slots.is_idle(slot, now)]
            if idle:
                table.transact(total_items.fold_idle_slots(read_total(), idle)[0])
        shown = make_parts(**{name: value for name, value in expected.items() if value})
        assert read_live_amount(table, TALLY).parts == shown
    roll_up()
    assert read_rolled_up_amount(table, TALLY).parts == shown
    stored = {name.removeprefix(PART_PREFIX) for name in read_total() if name.startswith("f.")}
    assert stored == {name for name, _ in shown}


def send(table: Table, write: Any) -> None:
    table.update(
        write.key, write.update, condition=write.condition or "", names=write.names,
        values=write.values,
    )  # fmt: skip
