"""An aggregate that is rolled up at once, through the real handlers, without any schedule."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from decimal import Decimal

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from daicho import Aggregate, Count, Domain, Entity, Key, month
from daicho.book.book import Book
from daicho.declare.fields import field, uid
from daicho.declare.registry import Daicho
from daicho.derive.contributions import Amount
from daicho.handlers import project, rollup
from daicho.plan import Ledger
from daicho.runtime.retry import RetryBudget
from daicho.storage.table import Table
from daicho.tally import slots
from daicho.tally.immediate_rollup import ImmediateRollup
from tests.support.stream_pump import Consumer, Context, Pump, environment

AT = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)
SONGS = ("a", "b", "c", "d", "e")


class Heard(Entity):
    id: str = uid()
    song: str = field()
    at: dt.datetime = field()

    key = Key(id)
    now = Aggregate(Count(), song, within=month(at), ranked=True, rolled_up="at once")
    later = Aggregate(Count(), song, within=month(at), ranked=True)
    number = Aggregate(Count(), song, rolled_up="at once")


LEDGER = Daicho(Domain("test", Heard)).append_generations(Ledger())


def test_totals_and_ranking_follow_the_stream_without_a_schedule(
    dynamo: str, dynamodb: DynamoDBClient, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", dynamo)
    settings = environment(table_name)
    projector = Consumer(project.build(settings, LEDGER), LEDGER.derived_types)
    pump = Pump(dynamodb, dynamo, table_name, [projector], batch=7)
    book = Book(Table(dynamodb, table_name), LEDGER, "acme")
    draw = random.Random(11)
    items: list[Heard] = []
    for _ in range(4):
        items += [book.create(Heard(song=draw.choice(SONGS), at=AT)) for _ in range(15)]
        gone = items.pop(draw.randrange(len(items)))
        book.delete(Heard.key(gone.id))
        changed = draw.randrange(len(items))
        items[changed] = book.change(Heard.key(items[changed].id), {"song": draw.choice(SONGS)})
        pump.run()
        counts = Counter(each.song for each in items)
        wanted = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
        chart = book.top(Heard.now.top("2026-11"), limit=10).items
        assert [(each.by[0], each.total) for each in chart] == wanted
        assert book.top(Heard.later.top("2026-11"), limit=10).items == []
    report = rollup.build(settings, LEDGER)({}, Context())
    assert (report["rolled"], report["failed"]) == (3 * len(SONGS), 0)
    for asked in (Heard.now, Heard.later):
        chart = book.top(asked.top("2026-11"), limit=10).items
        assert [(each.by[0], each.total) for each in chart] == wanted
    assert rollup.build(settings, LEDGER)({}, Context())["rolled"] == 0


@pytest.mark.dynoxide("capacity units")
def test_what_it_costs_is_what_the_docs_say(dynamodb: DynamoDBClient, table_name: str) -> None:
    table = Table(dynamodb, table_name).with_metering()
    costs = {"acme#+Heard.number#1#a": (2.0, 1.0), "acme#+Heard.now#1#2026-11#a": (2.0, 3.0)}
    for tally, cost in costs.items():
        for seq in ("1", "2"):
            slot = slots.build_slot_key(tally, "s")
            one = slots.add_delta(slot, Amount(1, Decimal(1)), seq, seq, dirty_shards=4, now=AT)
            table.update(
                one.key, one.update, condition=one.condition, names=one.names, values=one.values
            )
            table.units.take_total()
            ImmediateRollup(table, LEDGER).roll_up_tallies([tally], RetryBudget.for_seconds(60))
        assert table.units.take_total() == cost
