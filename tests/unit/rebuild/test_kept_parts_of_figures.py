"""Archived rows of an aggregate with more numbers than one update takes are added once."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest

from daicho import Aggregate, Count, Domain, Entity, Expires, Key, Mean, Variance, day, field
from daicho.archive.archiver import Archiver
from daicho.archive.reader import ArchiveReader
from daicho.declare.registry import Daicho
from daicho.derive.contributions import Amount, compute_contributions, sum_amounts
from daicho.plan import Ledger
from daicho.rebuild.kept_parts import KeptParts
from daicho.storage import keys
from daicho.storage.requests import Write
from daicho.stream.records import Batch
from daicho.tally import reader, slots
from tests.support.memory_archive import DAY, MIDNIGHT, PATIENCE, TTL
from tests.support.memory_stores import MemoryBucket, MemoryTable
from tests.support.sample_ledger import build_image
from tests.support.stream_events import build_raw_record

NOW = dt.datetime(2026, 11, 28, tzinfo=dt.UTC)
DAYS, SHOPS = 28, ("a", "b", "c")


def declare_sales(*, with_series: bool) -> Domain:
    """The same entity, before and after it has a series."""

    class Sale(Entity):
        id: str = field()
        shop: str = field()
        price: Decimal = field()
        weight: Decimal = field()
        at: dt.datetime = field()

        key = Key(id)
        expires = Expires(dt.timedelta(days=2), archive=True)
        if with_series:
            by_day = Aggregate(
                (Count(), Variance(price), Mean(weight)), shop, series=day(at), on_expiry="keep"
            )

    return Domain("sales", Sale)


LEDGER = Daicho(declare_sales(with_series=True)).append_generations(
    Daicho(declare_sales(with_series=False)).append_generations(Ledger())
)


class NoStream:
    """The stream is not asked."""

    def list_shards(self) -> tuple[Any, ...]:
        raise AssertionError("not used")


class Killed(BaseException):
    """The process ends here."""


class KillingTable(MemoryTable):
    """Ends the process at one transaction, before or after its effect."""

    fails_at = transactions = 0
    has_effect = False

    def transact(self, writes: Sequence[Write]) -> None:
        self.transactions += 1
        is_last = self.transactions == self.fails_at
        if not is_last or self.has_effect:
            super().transact(writes)
        if is_last:
            raise Killed


class Stage:
    """An archive of two objects, each with sales of all days and shops."""

    def __init__(self) -> None:
        self.table, bucket = KillingTable(), MemoryBucket(lambda: NOW)
        self.archive = ArchiveReader(bucket)
        self.expected: dict[str, list[Amount]] = {}
        plan = LEDGER.newest_generation("Sale").plan
        for at in (MIDNIGHT, MIDNIGHT + DAY):
            records = []
            for number in range(1, DAYS * len(SHOPS) + 1):
                sold_at = dt.datetime(2026, 10, number % DAYS + 1, tzinfo=dt.UTC)
                values = {
                    "id": f"{at}-{number}",
                    "shop": SHOPS[number % len(SHOPS)],
                    "price": Decimal(number),
                    "weight": Decimal(number) / 8,
                    "at": keys.render_instant(sold_at),
                }
                image = build_image("Sale", values, gen=1, ledger=LEDGER)
                records.append({**build_raw_record(number, (image, None), at), "userIdentity": TTL})
                for tally, amount in compute_contributions(plan, image).items():
                    self.expected.setdefault(tally, []).append(amount)
            batch = Batch.parse({"shardId": f"s{at}", "Records": records})
            assert Archiver(self.table, bucket, LEDGER).archive(batch, PATIENCE) is None

    def fill(self) -> None:
        parts = KeptParts(self.table, NoStream(), self.archive, LEDGER, lambda: NOW, dirty_shards=2)
        parts.fill({"Sale": frozenset({("by_day", 2)})}, "", PATIENCE)

    def check(self) -> None:
        """Each row was added once."""
        assert len(self.expected) == len(SHOPS)
        for tally, amounts in self.expected.items():
            summed = sum_amounts(amounts)
            assert len(summed.parts) > slots.MAX_UPDATE_PARTS
            assert reader.read_live_amount(self.table, tally) == summed


def test_all_numbers_of_archived_rows_are_added_once() -> None:
    stage = Stage()
    for _ in range(2):  # the second time nothing is added
        stage.fill()
        stage.check()
    slot_keys = {key.sk for key in stage.table.items if key.sk.startswith("kept#archive")}
    assert slot_keys == {f"kept#archive{n}" for n in range(1, slots.ARCHIVED_PIECES + 1)}
    sizes = [len(slots.read_amount(item).parts) for item in stage.table.items.values()]
    assert max(sizes) < slots.MAX_UPDATE_PARTS / 2  # a second object adds to the same parts


@pytest.mark.parametrize("has_effect", [False, True])
@pytest.mark.parametrize("fails_at", [1, 2])
def test_killed_at_any_write_it_adds_each_number_once(fails_at: int, has_effect: bool) -> None:
    stage = Stage()
    stage.table.fails_at, stage.table.has_effect = fails_at, has_effect
    with pytest.raises(Killed):
        stage.fill()
    stage.fill()
    stage.check()
