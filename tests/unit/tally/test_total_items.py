"""Totals are put as a whole: with as many parts as a chunk may have, and with their base."""

from __future__ import annotations

from decimal import Decimal

from daicho.declare.aggregates import MAX_STORED_NUMBERS
from daicho.derive.contributions import Amount
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.protocols import try_put
from daicho.tally import reader, slots, total_items
from tests.support.memory_stores import MemoryTable
from tests.support.tally_slots import NOW

TALLY = "t#+Sale.by_day#1#2026-10"
TOTAL = total_items.build_total_key(TALLY)


def build_amount(count: int, value: int = 1) -> Amount:
    """An amount with so many parts."""
    parts = tuple((f"{number:04}", Decimal(value)) for number in range(count))
    return Amount(1, Decimal(2), parts)


def put_total(table: MemoryTable, amount: Amount, place: ItemKey | None = None) -> bool:
    total = table.items.get(TOTAL)
    return try_put(table, total_items.write_total(TALLY, total, amount, place, len(table.items)))


def build_idle_slot(sort_key: str, amount: Amount) -> Image:
    parts = {f"f.{name}": {"N": str(value)} for name, value in amount.parts}
    return {
        "PK": {"S": TALLY},
        "SK": {"S": sort_key},
        "items": {"N": str(amount.items)},
        "total": {"N": str(amount.total)},
        "rev": {"N": "3"},
        "at": {"N": str(int(NOW.timestamp()))},
        **parts,
    }


def test_a_total_and_its_base_have_as_many_parts_as_a_declaration_allows() -> None:
    table, amount = MemoryTable(), build_amount(MAX_STORED_NUMBERS)
    slot = build_idle_slot("slot#s", amount)
    table.items[slots.build_slot_key(TALLY, "s")] = slot
    assert put_total(table, amount)
    writes, folded = total_items.fold_idle_slots(table.items[TOTAL], [slot])
    table.transact(writes)
    assert set(table.items) == {TOTAL}
    assert table.items[TOTAL] == folded
    assert total_items.read_base(folded) == amount
    assert reader.read_rolled_up_amount(table, TALLY) == amount
    assert reader.read_live_amount(table, TALLY) == amount
