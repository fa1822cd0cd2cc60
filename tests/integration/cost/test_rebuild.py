"""The estimate of a rebuild, compared with the units of one on DynamoDB."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from daicho.layout.base_item import build_base_item
from daicho.plan import (
    AggregatePlan,
    EntityPlan,
    Generation,
    KeyPlan,
    Ledger,
    ListingPlan,
    Part,
    SearchPlan,
)
from daicho.runtime.clock import utc_now
from daicho.runtime.retry import RetryBudget
from daicho.storage.attributes import Image, to_image
from daicho.storage.table import Table
from daicho.stream.projector import Projector
from daicho.stream.records import Batch
from daicho.tally.rollup import Rollup
from daicho_cli.cost.prices import load_prices
from daicho_cli.cost.traffic import StreamTraffic
from daicho_cli.plan.rebuild import estimate_rebuild
from tests.support.memory_stores import MemoryBucket
from tests.support.meter import Meter
from tests.support.stream_pump import Consumer, Pump

pytestmark = pytest.mark.dynoxide("capacity units")

FIELDS = {"id": "str", "title": "str", "artist": "str"}
OLD = EntityPlan(
    "Song", FIELDS, KeyPlan(("id",), ()), listings=(ListingPlan("all", 1, (), ("created_at",)),)
)
NEW = replace(
    OLD,
    searches=(SearchPlan("titled", 2, ("title",), (1, 2, 3, 5, 8)),),
    aggregates=(AggregatePlan("chart", 2, "count", None, (Part("artist"),), (), ranked=True),),
)
LEDGER = Ledger({"Song": (Generation(1, OLD), Generation(2, NEW))})
TITLES = ("Aja", "Deacon Blues", "Turn That Heartbeat Over Again", "Heroes")
ITEMS = 100
BUDGET = RetryBudget.for_seconds(3_600)  # from the import of this module on


def make_items() -> list[Image]:
    """Items as the first generation stored them."""
    return [
        build_base_item(
            "acme",
            LEDGER.entities["Song"][0],
            to_image({"id": f"{n:026d}", "title": TITLES[n % 4], "artist": f"artist-{n % 5}"}),
            utc_now(),
        )
        for n in range(ITEMS)
    ]


def touch(table: Table, item: Image) -> None:
    """Raise the generation of an item (EXACTNESS rule 24)."""
    table.put({**item, "gen": {"N": "2"}}, condition="attribute_exists(PK)")


def test_a_rebuild_costs_what_is_estimated(
    dynamodb: DynamoDBClient, dynamo: str, table_name: str
) -> None:
    meter, table, items = Meter(dynamodb), Table(dynamodb, table_name), make_items()
    projector = Projector(table, MemoryBucket(), LEDGER, dirty_shards=16)

    def project(event: Any, _context: Any) -> dict[str, Any]:
        assert projector.project(Batch.parse(event), BUDGET) is None
        return {"batchItemFailures": []}

    pump = Pump(dynamodb, dynamo, table_name, [Consumer(project, ["Song"])])
    table.batch_write(items)
    pump.run()
    with meter.counting() as touches:
        for item in items:
            touch(table, item)
    with meter.counting() as derived:
        pump.run()
        Rollup(table.with_metering(), LEDGER, dirty_shards=16).run(BUDGET)
    # One batch; the rollup stores once over how many partitions marks are spread.
    stream = StreamTraffic(shards=1, batch_records=ITEMS, rollups=1)
    estimate = estimate_rebuild(
        NEW, [("titled", 2), ("chart", 2)], items, ITEMS, load_prices(), rate=50, stream=stream
    )
    assert touches.writes == estimate.touch_units == ITEMS
    assert derived.writes - 1 == pytest.approx(estimate.row_units + estimate.count_units, rel=0.01)
    assert estimate.seconds == 2
