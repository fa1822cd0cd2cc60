"""Scores and ranks read from totals: sums past a score's width, members counted since then."""

from __future__ import annotations

from daicho import Entity
from daicho.query.totals import TallyGroup, Totals
from daicho.runtime.clock import utc_now
from daicho.runtime.retry import RetryBudget
from daicho.storage import keys
from daicho.storage.item_cache import ItemCache
from daicho.stream.projector import Projector
from daicho.stream.records import Batch
from daicho.tally import slots, total_items
from daicho.tally.reader import read_live_amount
from daicho.tally.rollup import Rollup
from tests.support.item_images import HIGHEST, LEDGER, PAYMENT, Payment, image_of
from tests.support.memory_stores import MemoryBucket, MemoryTable
from tests.support.stream_events import build_event

AMPLE = RetryBudget.for_seconds(3_600)


def projected(table: MemoryTable, *items: Entity) -> None:
    batch = Batch.parse(build_event(*((None, image_of(item, "t")) for item in items)))
    projector = Projector(table, MemoryBucket(), LEDGER, dirty_shards=1)
    assert projector.project(batch, AMPLE) is None


def test_a_sum_beyond_a_scores_width_stands_at_the_top() -> None:
    table = MemoryTable()
    projected(
        table,
        Payment(id="1", payer="rich", amount=HIGHEST),
        Payment(id="2", payer="rich", amount=HIGHEST),
        Payment(id="3", payer="poor", amount=-HIGHEST),
        Payment(id="4", payer="poor", amount=-HIGHEST),
        Payment(id="5", payer="other", amount=5),
    )
    report = Rollup(table, LEDGER, dirty_shards=1).run(AMPLE)
    assert (report.rolled, report.failed) == (3, 0)
    group = TallyGroup("t", PAYMENT.plan, PAYMENT.plan.aggregates[0], ())
    figures = Totals(table, ItemCache(utc_now), group)
    tally = group.render_tally(("rich",))
    total = table.get(total_items.build_total_key(tally))
    assert slots.read_amount(total).total == 2 * HIGHEST
    amounts = {"rich": 2 * HIGHEST, "other": 5, "poor": -2 * HIGHEST}
    placed = [item for item in table.items.values() if "GSI3SK" in item]
    placed.sort(key=lambda item: item["GSI3SK"]["S"])
    assert [keys.parse(item["GSI3SK"]["S"])[1] for item in placed] == list(amounts)
    for payer, amount in amounts.items():
        live = read_live_amount(table, group.render_tally((payer,)))
        assert figures.read_score((payer,), live, ranked=False).total == amount


def test_a_member_is_never_ahead_of_itself() -> None:
    table = MemoryTable()
    payments = [Payment(id=str(n), payer="a", amount=10) for n in range(3)]
    projected(table, *payments, Payment(id="9", payer="b", amount=1))
    Rollup(table, LEDGER, dirty_shards=1).run(AMPLE)
    tally = TallyGroup("t", PAYMENT.plan, PAYMENT.plan.aggregates[0], ())
    slot = slots.build_slot_key(tally.render_tally(("a",)), "s")
    counted = {"items": {"N": "2"}, "total": {"N": "20"}, "GSI2PK": {"S": "#dirty#0"}}
    table.items[slot] = {**table.items[slot], **counted}
    figures = Totals(table, ItemCache(utc_now), tally)
    for payer, rank in (("a", 1), ("b", 2)):
        live = read_live_amount(table, tally.render_tally((payer,)))
        assert figures.read_score((payer,), live, ranked=True).rank == rank
