"""Counting at its limits: a tally with more slots than one query page, the largest batches."""

from __future__ import annotations

import datetime as dt
import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from daicho import Aggregate, Count, Domain, Entity, Key
from daicho.book.book import Book
from daicho.declare.fields import field as declared
from daicho.declare.fields import uid
from daicho.declare.registry import Daicho
from daicho.handlers import project, rollup
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.layout import item_keys
from daicho.plan import Ledger
from daicho.storage import attributes
from daicho.storage.attributes import AttributeValue, measure_image
from daicho.storage.requests import Query
from daicho.storage.table import Table
from daicho.tally import slots
from tests.support.stream_pump import Context, environment

NOW = dt.datetime(2026, 11, 21, tzinfo=dt.UTC)
QUERY_PAGE_BYTES = 1024 * 1024
MAX_PAYLOAD_BYTES = 6 * 1024 * 1024
SLOTS = 9_000
ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/daicho/stream/2026-11-01T00:00:00.000"


class Play(Entity):
    id: str = uid()
    song: str = declared()
    note: str = declared(default="")

    key = Key(id)
    of_song = Aggregate(Count(), song, ranked=True)


LEDGER = Daicho(Domain("test", Play)).append_generations(Ledger())
PLAN = LEDGER.current_generation("Play")
SETTINGS = {"DIRTY_SHARDS": "1"}
Handler = Callable[[dict[str, Any], Any], Any]


@pytest.fixture
def table(dynamodb: DynamoDBClient, table_name: str) -> Table:
    return Table(dynamodb, table_name).with_metering()


def build_handler(function: Any, table: Table, table_name: str) -> Handler:
    dependencies = Dependencies(table=lambda *_, **__: table, now=lambda: NOW)
    handler: Handler = function.build(environment(table_name, **SETTINGS), LEDGER, dependencies)
    return handler


def build_slots(partition: str, count: int) -> Iterator[dict[str, AttributeValue]]:
    """Slots of as many stream shards, each with its number as its count; the first is dirty."""
    for number in range(count):
        key = slots.build_slot_key(partition, f"shardId-{number:020d}-0123abcd")
        amount = attributes.to_value(number)
        slot: dict[str, AttributeValue] = {
            "PK": {"S": key.pk},
            "SK": {"S": key.sk},
            "items": amount,
            "total": amount,
            "seq": {"S": f"{number:040d}"},
            "at": attributes.to_value(int(NOW.timestamp())),
            "rev": {"N": "1"},
        }
        if number == 0:
            slot["GSI2PK"] = {"S": slots.choose_dirty_partition(partition, 1)}
            slot["GSI2SK"] = {"S": NOW.isoformat()}
        yield slot


def test_a_tally_with_more_slots_than_a_query_page_is_exact(table: Table, table_name: str) -> None:
    (chart,) = PLAN.plan.aggregates
    partition = item_keys.render_tally_partition("acme", PLAN.plan, chart, (), ("a",))
    items = list(build_slots(partition, SLOTS))
    size = sum(map(measure_image, items))
    assert size > 1.2 * QUERY_PAGE_BYTES
    table.batch_write(items)
    pages = list(table.query_pages(Query(partition, consistent=True)))
    assert len(pages) > 1, "one query page held all slots"
    assert sum(len(page.items) for page in pages) == SLOTS

    expected = sum(range(SLOTS))
    book = Book(table, LEDGER, "acme")
    table.budget.take_total()
    assert book.read(Play.of_song("a"), live=True).items == expected
    read_units = table.budget.take_total()[0]
    assert (
        0.95 * size / 4096 <= read_units <= 1.1 * size / 4096 + 3
    )  # the cost grows with the slots

    report = build_handler(rollup, table, table_name)({}, Context())
    assert (report["failed"], report["finished"]) == (0, True)
    assert report["slots_read"] == SLOTS
    assert book.read(Play.of_song("a")).items == expected


def build_record(number: int, note: str) -> dict[str, Any]:
    image: dict[str, AttributeValue] = {
        "type": {"S": "Play"},
        "gen": attributes.to_value(PLAN.number),
        "created_at": attributes.to_value(NOW),
        "id": {"S": f"p{number}"},
        "song": {"S": f"song-{number % 10}"},
        "note": {"S": note},
    }
    key = item_keys.build_base_key("acme", PLAN.plan, image)
    keys: dict[str, AttributeValue] = {"PK": {"S": key.pk}, "SK": {"S": key.sk}}
    change = {
        "Keys": keys,
        "NewImage": {**keys, **image},
        "SequenceNumber": str(number + 1),
        "ApproximateCreationDateTime": NOW.timestamp(),
    }
    return {"eventName": "INSERT", "eventSourceARN": ARN, "dynamodb": change}


@pytest.mark.parametrize(
    ("records", "note_bytes"),
    [
        pytest.param(10_000, 0, id="as many records as any mapping sends"),
        pytest.param(15, 400 * 1024 - 2_000, id="6 MB of items of 400 KB"),
    ],
)
def test_the_largest_batches_are_counted_exactly(
    table: Table, table_name: str, records: int, note_bytes: int
) -> None:
    event = {
        "Records": [build_record(number, "x" * note_bytes) for number in range(records)],
        "shardId": "shardId-00000000000000000000-0123abcd",
        "state": {},
    }
    assert records == 10_000 or records * note_bytes > 0.95 * MAX_PAYLOAD_BYTES
    gc.collect()
    gc.freeze()  # a collection of all objects of the test run would be time of one record
    try:
        answer = build_handler(project, table, table_name)(event, Context())
    finally:
        gc.unfreeze()
    assert answer["batchItemFailures"] == []
    book = Book(table, LEDGER, "acme")
    counted = [book.read(Play.of_song(f"song-{n}"), live=True).items for n in range(10)]
    assert counted == [len(range(n, records, 10)) for n in range(10)]
