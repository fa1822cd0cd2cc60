"""Archived rows of an aggregate with more numbers than one update takes are added once."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from daicho import Aggregate, Count, Domain, Entity, Expires, Key, Mean, Variance, day, field
from daicho.archive.archiver import Archiver
from daicho.archive.reader import ArchiveReader
from daicho.declare.registry import Daicho
from daicho.derive.contributions import Amount, compute_contributions, split_parts, sum_amounts
from daicho.plan import Ledger
from daicho.rebuild.kept_parts import KeptParts
from daicho.storage import keys
from daicho.storage.item_key import ItemKey
from daicho.stream.records import Batch
from daicho.tally import reader, slots
from daicho.testing.aws.memory_stores import MemoryBucket, MemoryTable
from tests.support.memory_archive import MIDNIGHT, PATIENCE, TTL
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


@pytest.mark.parametrize("max_parts", [slots.MAX_UPDATE_PARTS, 40])
def test_all_numbers_of_archived_rows_are_added_once(
    max_parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slots, "MAX_UPDATE_PARTS", max_parts)
    table, bucket = MemoryTable(), MemoryBucket(lambda: NOW)
    records, expected = [], dict[str, list[Amount]]()
    plan = LEDGER.newest_generation("Sale").plan
    for number in range(1, DAYS * len(SHOPS) + 1):
        values = {
            "id": str(number),
            "shop": SHOPS[number % len(SHOPS)],
            "price": Decimal(number),
            "weight": Decimal(number) / 8,
            "at": keys.render_instant(dt.datetime(2026, 10, number % DAYS + 1, tzinfo=dt.UTC)),
        }
        image = build_image("Sale", values, gen=1, ledger=LEDGER)
        records.append({**build_raw_record(number, (image, None), MIDNIGHT), "userIdentity": TTL})
        for tally, amount in compute_contributions(plan, image).items():
            expected.setdefault(tally, []).append(amount)
    batch = Batch.parse({"shardId": "s", "Records": records})
    assert Archiver(table, bucket, LEDGER).archive(batch, PATIENCE) is None
    parts = KeptParts(table, NoStream(), ArchiveReader(bucket), LEDGER, lambda: NOW, dirty_shards=2)
    for _ in range(2):  # the second time nothing is added
        parts.fill({"Sale": frozenset({("by_day", 2)})}, "", PATIENCE)
        assert len(expected) == len(SHOPS)
        for tally, amounts in expected.items():
            summed = sum_amounts(amounts)
            assert len(summed.parts) > slots.MAX_UPDATE_PARTS or max_parts == 200
            assert reader.read_live_amount(table, tally) == summed
    several = [key for key in table.items if key.sk == "kept#archive1"]
    assert len(several) == len(SHOPS)


def test_pieces_of_an_amount_add_up_to_it() -> None:
    amount = Amount(2, Decimal(5), tuple((f"{n:03}", Decimal(n + 1)) for n in range(450)))
    pieces = split_parts(amount, 200)
    assert [len(piece.parts) for piece in pieces] == [200, 200, 50]
    assert sum_amounts(pieces) == amount
    assert split_parts(Amount(1, Decimal(1)), 200) == [Amount(1, Decimal(1))]
    assert slots.build_filled_key("t", 0) == ItemKey("t", "kept#archive")
