"""Costs of counting: units of an event, costs of idle tallies, units of reads.

The peer is seed 002's aggregation, an update for each event, over the same number of groups.

The real handlers of projector and rollup run over Dynoxide, with records in the form that Lambda
sends. The events are of one entity with one ranked count, by song within a month. The exit status
is 1 if a target is missed.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import itertools
import os
import random
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table as Printed

from daicho import Aggregate, Count, Domain, Entity, Key, month
from daicho.book.book import Book
from daicho.declare.fields import field as declared
from daicho.declare.fields import uid
from daicho.declare.registry import Daicho
from daicho.handlers import project, rollup
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.layout import item_keys
from daicho.plan import Ledger
from daicho.storage import attributes, keys
from daicho.storage.table import Table
from daicho.tally import slots, total_items
from tests.support.dynoxide import client, create_table, serving
from tests.support.stream_pump import Context, environment

BATCH = 1_000
BATCHES_A_ROLLUP = 60
ROLLUPS = 2
PEER_EVENTS = 6_000
GROUPS = (10, 100, 1_000)
MOST_UNITS_AN_EVENT = 0.15
"""The target, at 100 groups and one stream shard."""

IDLE = (10, 10_000)
ACTIVE = 100
MOST_GROWTH = 1.05
"""The target: a rollup's units with many idle tallies, divided by those with few."""

RANKED = 12_000
TENANT = "acme"
MONTH = "2026-11"
NOW = dt.datetime(2026, 11, 21, tzinfo=dt.UTC)
ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/daicho/stream/2026-11-01T00:00:00.000"
console = Console(width=110)


class Play(Entity):
    """A song was played."""

    id: str = uid()
    song: str = declared()
    at: dt.datetime = declared()

    key = Key(id)
    chart = Aggregate(Count(), song, within=month(at), ranked=True)


class SpreadPlay(Entity):
    """The same over four partitions of the index, to compare the units of reads."""

    id: str = uid()
    song: str = declared()
    at: dt.datetime = declared()

    key = Key(id)
    chart = Aggregate(Count(), song, within=month(at), ranked=True, shards=4)


LEDGER = Daicho(Domain("bench", Play, SpreadPlay)).append_generations(Ledger())


@dataclass
class Counting:
    """The handlers that count, over a metered table of their own."""

    endpoint: str
    now: dt.datetime = NOW
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def __post_init__(self) -> None:
        self.client = client(self.endpoint)
        self.name = create_table(self.client)
        self.table = Table(self.client, self.name).with_metering()
        dependencies = Dependencies(table=lambda *_, **__: self.table, now=lambda: self.now)
        settings = environment(self.name, DIRTY_SHARDS="16")
        self._project = project.build(settings, LEDGER, dependencies)
        self._rollup = rollup.build(settings, LEDGER, Dependencies(now=lambda: self.now))

    def project(self, songs: Iterable[str], shard: int) -> float:
        """Count plays of songs, as one batch of a stream shard; return the write units."""
        self.table.budget.take_total()
        records = [self._record(song) for song in songs]
        event = {"Records": records, "shardId": f"shardId-{shard:020d}-bench", "state": {}}
        answer = self._project(event, Context())
        if answer["batchItemFailures"]:
            raise RuntimeError(f"not projected: {answer}")
        return self.table.budget.take_total()[1]

    def roll_up(self) -> Mapping[str, Any]:
        """Roll up all dirty tallies; return the report."""
        with contextlib.redirect_stdout(io.StringIO()):  # its metrics
            report = self._rollup({}, Context())
        if report["failed"] or not report["finished"]:
            raise RuntimeError(f"not rolled up: {report}")
        return report

    def _record(self, song: str) -> dict[str, Any]:
        number = next(self.numbers)
        plan = LEDGER.current_generation("Play")
        image: dict[str, Any] = {
            "type": {"S": "Play"},
            "gen": attributes.to_value(plan.number),
            "created_at": attributes.to_value(NOW),
            "id": {"S": f"p{number}"},
            "song": {"S": song},
            "at": attributes.to_value(NOW),
        }
        key = item_keys.build_base_key(TENANT, plan.plan, image)
        both = {"PK": {"S": key.pk}, "SK": {"S": key.sk}}
        change = {
            "Keys": both,
            "NewImage": {**both, **image},
            "SequenceNumber": str(number),
            "ApproximateCreationDateTime": NOW.timestamp(),
        }
        return {"eventName": "INSERT", "eventSourceARN": ARN, "dynamodb": change}


def events(endpoint: str) -> float:
    """Print units an event by number of groups and shards; return the target's figure."""
    printed = Printed("groups", "shards", "slots", "rollups", "units an event", "rollup's reads")
    printed.title = (
        f"Write units an event: {BATCH:,} records a batch, {BATCHES_A_ROLLUP} batches a rollup"
    )
    figures: dict[tuple[int, int], float] = {}
    for groups, shards in (*((groups, 1) for groups in GROUPS), (100, 4)):
        counting = Counting(endpoint)
        draw = random.Random(groups)  # noqa: S311
        songs = [f"song-{number}" for number in range(groups)]
        counted = rolled = read = 0.0
        batches = ROLLUPS * BATCHES_A_ROLLUP
        for number in track(range(batches), f"{groups:,} groups", console=console, transient=True):
            counted += counting.project(draw.choices(songs, k=BATCH), number % shards)
            if number % BATCHES_A_ROLLUP == BATCHES_A_ROLLUP - 1:
                report = counting.roll_up()
                rolled += report["write_units"]
                read += report["read_units"]
        _check(counting, batches * BATCH)
        event_count = batches * BATCH
        figures[groups, shards] = (counted + rolled) / event_count
        units = (
            counted / event_count,
            rolled / event_count,
            figures[groups, shards],
            read / event_count,
        )
        printed.add_row(f"{groups:,}", str(shards), *(f"{value:.4f}" for value in units))
    peer = _peer(endpoint)
    printed.add_row("100", "peer: one update for each event", "", "", f"{peer:.4f}", "")
    console.print(printed)
    return figures[100, 1]


def _peer(endpoint: str) -> float:
    """Units of an event in seed 002's aggregation.

    It is an ADD of 1 on a total, and an index ranks the total's number.

    Source: "Using Global Secondary Indexes for materialized aggregation queries", AWS.
    """
    dynamodb = client(endpoint)
    name, kinds = "bench-materialized", {"PK": "S", "Month": "S", "Downloads": "N"}
    dynamodb.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": attribute, "AttributeType": kind}  # type: ignore[typeddict-item]
            for attribute, kind in kinds.items()
        ],
        KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "DownloadsByMonth",
                "KeySchema": [
                    {"AttributeName": "Month", "KeyType": "HASH"},
                    {"AttributeName": "Downloads", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
    )
    units = 0.0
    draw = random.Random(100)  # noqa: S311
    for _ in range(PEER_EVENTS):
        answer = dynamodb.update_item(
            TableName=name,
            Key={"PK": {"S": f"{MONTH}#song-{draw.randrange(100)}"}},
            UpdateExpression="SET #month = :month ADD Downloads :one",
            ExpressionAttributeNames={"#month": "Month"},
            ExpressionAttributeValues={":month": {"S": MONTH}, ":one": {"N": "1"}},
            ReturnConsumedCapacity="TOTAL",
        )
        units += answer["ConsumedCapacity"]["CapacityUnits"]
    return units / PEER_EVENTS


def _check(counting: Counting, plays: int) -> None:
    """Raise an error unless the chart counts all plays: a cost is valid only for correct counts."""
    book = Book(counting.table, LEDGER, TENANT)
    count, cursor = 0, None
    while True:
        chart = book.top(Play.chart.top(MONTH), cursor=cursor)
        count += sum(score.items for score in chart.items)
        cursor = chart.cursor
        if cursor is None:
            break
    if count != plays:
        raise RuntimeError(f"{plays} plays, and {count} counted")


def idle(endpoint: str) -> float:
    """Print the units of a rollup with few and with many idle tallies; return the worst growth."""
    printed = Printed("idle tallies", "rolled", "slots read", "read units", "write units", "folded")
    printed.title = f"A rollup of {ACTIVE} tallies beside idle ones of the same ranking"
    units_by_size: list[tuple[float, float]] = []
    for number in IDLE:
        counting = Counting(endpoint)
        counting.table.batch_write(_idle_tallies("Play", number))
        active = [f"song-{place}" for place in range(ACTIVE)]
        counting.project(active, 0)
        counting.roll_up()
        for days in (0, 4):  # the second time the first shard's slots are idle, and go
            counting.now += dt.timedelta(days=days)
            counting.project(active, 1)
            report = counting.roll_up()
            if days == 0:
                units_by_size.append((report["read_units"], report["write_units"]))
            counts = [f"{report[figure]:,}" for figure in ("rolled", "slots_read")]
            units = [f"{report[figure]:.1f}" for figure in ("read_units", "write_units")]
            printed.add_row(f"{number:,}", *counts, *units, f"{report['slots_folded']:,}")
    console.print(printed)
    few, many = units_by_size
    return max(large / small for small, large in zip(few, many, strict=True))


def _idle_tallies(entity: str, number: int) -> Iterator[dict[str, Any]]:
    """Totals in their ranking, each with a slot after a rollup: the last total has 1 play."""
    plan = LEDGER.current_generation(entity).plan
    (chart,) = plan.aggregates
    for place in range(number):
        by = (f"idle-{place:06d}",)
        tally = item_keys.render_tally_partition(TENANT, plan, chart, (MONTH,), by)
        amounts = {"items": attributes.to_value(number - place), "rev": {"N": "2"}}
        amounts["total"] = amounts["items"]
        slot = slots.build_slot_key(tally, "shardId-0-bench")
        yield {"PK": {"S": slot.pk}, "SK": {"S": slot.sk}, **amounts}
        yield {
            "PK": {"S": tally},
            "SK": {"S": total_items.TOTAL_SORT_KEY},
            "GSI3PK": {"S": item_keys.render_ranking_partition(TENANT, plan, chart, (MONTH,), by)},
            "GSI3SK": {"S": keys.render(keys.parse_inverted_score(number - place), *by)},
            **amounts,
        }


def readings(endpoint: str) -> None:
    """Print the read units of each kind of read."""
    printed = Printed("reading", "one partition", "four")
    printed.title = f"Read units, in a ranking of {RANKED:,} members"
    counting = Counting(endpoint)
    for name in ("Play", "SpreadPlay"):
        blocks = list(_blocks(_idle_tallies(name, RANKED)))
        for block in track(blocks, f"{RANKED:,} members", console=console, transient=True):
            counting.table.batch_write(block)
    rows: dict[str, list[str]] = {}
    for entity in (Play, SpreadPlay):
        book = Book(counting.table, LEDGER, TENANT)

        def note_units(what: str) -> None:
            rows.setdefault(what, []).append(f"{counting.table.budget.take_total()[0]:.1f}")

        def member(place: int) -> Any:
            return entity.chart(MONTH, f"idle-{place - 1:06d}")  # noqa: B023 - asked at once

        counting.table.budget.take_total()
        book.read(member(1))
        note_units("one figure, rolled up")
        book.read(member(1), live=True)
        note_units("one figure, live")
        for place in (1, 1_000, 9_999, RANKED):
            score = book.read(member(place), ranked=True)
            if (score.rank or score.beyond) != min(place, 10_000):
                raise RuntimeError(f"{place}: {score}")
            rank = score.rank or f"more than {score.beyond}"
            note_units(f"one figure, its rank: {rank:,}" if score.rank else f"its rank: {rank}")
        first = book.top(entity.chart.top(MONTH), limit=10)
        note_units("top 10")
        book.top(entity.chart.top(MONTH), limit=100)
        note_units("top 100")
        book.top(entity.chart.top(MONTH), limit=100, cursor=first.cursor)
        note_units("100 further down")
        if [score.items for score in first.items] != [RANKED - place for place in range(10)]:
            raise RuntimeError("the top 10 are wrong")
    for what, units in rows.items():
        printed.add_row(what, *units)
    console.print(printed)


def _blocks(items: Iterable[Any], size: int = 500) -> Iterator[list[Any]]:
    rest = iter(items)
    while block := list(itertools.islice(rest, size)):
        yield block


def main() -> int:
    """Print all tables; return the exit status."""
    with serving() as endpoint:
        os.environ["AWS_ENDPOINT_URL"] = endpoint
        units = events(endpoint)
        growth = idle(endpoint)
        readings(endpoint)
    console.print(
        f"units an event at 100 groups: {units:.3f} (target: at most {MOST_UNITS_AN_EVENT}); "
        f"idle tallies, {IDLE[1]:,} over {IDLE[0]}: {growth:.3f} (at most {MOST_GROWTH})"
    )
    return int(units > MOST_UNITS_AN_EVENT or growth > MOST_GROWTH)


if __name__ == "__main__":
    sys.exit(main())
