"""Rollups of fast counters: overtaken, ended, given up, one beside many; slots become more."""

from __future__ import annotations

import random

import pytest

from daicho.derive.contributions import Amount
from daicho.layout import item_keys
from daicho.plan import (
    CounterPlan,
    EntityPlan,
    Generation,
    KeyPlan,
    Ledger,
    Part,
    UnknownEntityError,
)
from daicho.runtime.retry import RetryBudget
from daicho.storage import keys
from daicho.storage.attributes import ItemKey
from daicho.tally import counter_items, counter_slots, reader, slots, total_items
from daicho.tally.fair_queue import TallyTurn
from daicho.tally.rollup import Rollup
from tests.support.fast_counters import (
    LEDGER,
    LIKES,
    NAME,
    NOW,
    Table,
    add,
    head,
    roll_up,
    total,
)


def test_a_rollup_that_others_always_overtake_gives_up() -> None:
    table = Table()
    add(table, "a", lambda: 0.0)
    roll_up(table)
    add(table, "a", lambda: 0.0)

    def raise_the_head(key: ItemKey) -> None:
        if key == NAME.head_key:
            rev = slots.read_revision(head(table)) + 1
            table.items[NAME.head_key] = {**head(table), "rev": {"N": str(rev)}}

    table.before = raise_the_head
    assert roll_up(table) == TallyTurn(overtaken=True)
    assert total(table, "a") == 1


def test_a_counter_that_nobody_declares_stays_marked() -> None:
    table = Table()
    add(table, "a", lambda: 0.0)
    with pytest.raises(UnknownEntityError):
        roll_up(
            table,
            ledger=Ledger({"Like": (Generation(1, EntityPlan("Like", {}, KeyPlan(("id",), ()))),)}),
        )
    assert len([item for item in table.items.values() if "GSI2PK" in item]) == 1


def test_what_counts_no_groups_has_one_figure() -> None:
    views = CounterPlan("views", 2, (), (Part("song"),), 4)
    plan = EntityPlan("Like", {"song": "str"}, KeyPlan(("song",), ()), counters=(LIKES, views))
    name = counter_items.CounterName("t", "Like", "views", 2, ("x",))
    table = Table()
    for _ in range(3):
        counter_slots.add(
            table, name, (), slots=4, dirty_shards=4, now=NOW, random=random.Random(2).random
        )
    assert roll_up(table, ledger=Ledger({"Like": (Generation(2, plan),)}))
    tally = item_keys.render_tally_partition("t", plan, views.tally, ("x",), ())
    assert reader.read_rolled_up_amount(table, tally) == Amount(3, 3)  # type: ignore[arg-type]
    assert "GSI3PK" not in table.items[total_items.build_total_key(tally)]


def test_the_rollup_finds_it_once_a_run_however_many_marks_it_has() -> None:
    table, chance = Table(), random.Random(1)
    for _ in range(100):
        add(table, "a", chance.random)
    assert len({item["GSI2PK"]["S"] for item in table.items.values()}) == 1
    report = Rollup(table, LEDGER, dirty_shards=4, now=lambda: NOW).run(
        RetryBudget(lambda: 60.0, reserve=1)
    )
    assert (report.rolled, report.failed, report.slots_read) == (1, 0, 8)
    assert report.oldest_mark == keys.render_instant(NOW)
    assert total(table, "a") == 100


def test_throttles_are_counted_once() -> None:
    table = Table()
    table.before = lambda key: None
    change = counter_items.add_vote(
        NAME, 1, ("a",), known_slots=8, throttled=2, dirty_shards=4, now=NOW
    )
    table.update(change.key, change.update, names=change.names, values=change.values)
    roll_up(table)
    assert counter_items.read_slot_count(head(table)) == 16
    add(table, "a", lambda: 0.0, known=16)
    roll_up(table, seconds=120)
    assert counter_items.read_slot_count(head(table)) == 16
