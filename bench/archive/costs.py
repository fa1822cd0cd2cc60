"""Objects a day and the cost of a million archived rows, computed from the deployed settings.

The batches of Lambda are simulated, the library packs the objects, and the units are counted on
Dynoxide. The duration of an invocation for each row is assumed, at the upper end (``SECONDS_…``).
"""

from __future__ import annotations

import datetime as dt
import json
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from bench.archive.batching import Gathered, Mapping, gather_batches
from bench.archive.deletion_generator import Deletion, Deletions, moments
from bench.archive.report import console, markdown
from daicho.archive import object_format
from daicho.archive.archiver import Archiver
from daicho.archive.row_format import ArchivedRow
from daicho.plan import Ledger
from daicho.runtime.retry import RetryBudget
from daicho.storage.table import Table
from daicho.stream.records import Batch, StreamRecord
from tests.support.dynoxide import client, create_table, serving
from tests.support.memory_stores import MemoryBucket
from tests.support.meter import Meter

# us-east-1, 2026, before any free tier.
PUT = 0.005 / 1_000
GET = 0.0004 / 1_000
STANDARD_GB_MONTH = 0.023
"""https://aws.amazon.com/s3/pricing/"""
INVOCATION = 0.20 / 1e6
ARM_GB_SECOND = 0.0000133334
"""https://aws.amazon.com/lambda/pricing/ (reads of the stream by Lambda cost nothing)"""
WRITE_UNIT = 0.625 / 1e6
"""https://aws.amazon.com/dynamodb/pricing/on-demand/ (deletions by TTL cost nothing)"""

RATES = (10, 1_000, 100_000)
SMALL_TABLE = 4
"""Partitions of a new on-demand table, which takes 4,000 writes a second."""
SECONDS_A_BATCH, SECONDS_AN_OBJECT, SECONDS_A_ROW = 0.05, 0.1, 0.0001
ARCHIVE_GB, AUDIT_GB = 1024 / 1024, 3008 / 1024
AUDITED_ROWS_A_SECOND = 40_000
AUDITS_OF_A_DAY = 3
MIN_BYTES_TO_MOVE = 128 * 1024
"""Smaller objects stay in their storage class (S3: "Constraints for lifecycle")."""
DAY = 86_400
SAMPLE = 20_000


class Sample:
    """Deletions to draw sizes from."""

    def __init__(self, ledger: Ledger) -> None:
        first = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)
        self.ledger = ledger
        self.deletions = list(Deletions(ledger).at(moments(SAMPLE, first, 1)))
        self.sizes = [len(json.dumps(deletion.record)) for deletion in self.deletions]
        self.rows: dict[str, list[ArchivedRow]] = {"Message": [], "Download": []}
        for record in _records(self.deletions):
            self.rows[record.entity or ""].append(ArchivedRow.from_record(record, ledger))
        self.packed = cache(self._packed)

    def _packed(self, entity: str, count: int) -> int:
        """Bytes of an object of so many rows of an entity."""
        rows = self.rows[entity]
        repeated = [rows[place % len(rows)] for place in range(count)]
        return len(object_format.pack_rows(repeated, repeated[-1].seq).body)


def _records(deletions: Iterable[Deletion]) -> Sequence[StreamRecord]:
    records = [deletion.record for deletion in deletions]
    return Batch.parse({"shardId": "shardId-1", "Records": records}).records


@dataclass
class Day:
    """A day at a rate: the archived rows, and the number and the sizes of the objects."""

    rows: int
    batches: int
    objects: int
    stored: int
    movable: int
    shards: int

    @classmethod
    def at(cls, rate: int, mapping: Mapping, sample: Sample) -> Day:
        """A day of ``rate`` deletions an hour."""
        source = random.Random(rate)  # noqa: S311
        count = rate * 24
        times = sorted(source.uniform(0, DAY) for _ in range(count))
        offset = source.randrange(SAMPLE)
        sizes = [sample.sizes[(place + offset) % SAMPLE] for place in range(count)]
        day = cls(count, 0, 0, 0, 0, mapping.shards)
        for batch in gather_batches(times, sizes, mapping, seed=rate):
            day.batches += 1
            for entity, number in _entities(batch, offset, sample).items():
                size = sample.packed(entity, _rounded(number))
                day.objects += 1
                day.stored += size
                day.movable += size >= MIN_BYTES_TO_MOVE
        return day

    @property
    def dollars(self) -> dict[str, float]:
        """The cost of a million rows, paid once, by purpose."""
        objects_, batches = self._of_a_million(self.objects), self._of_a_million(self.batches)
        windows = self._of_a_million(self.shards * DAY / 900)
        seconds = (
            (batches + windows) * SECONDS_A_BATCH
            + objects_ * SECONDS_AN_OBJECT
            + 1e6 * SECONDS_A_ROW
        )
        audited = AUDITS_OF_A_DAY * 1e6 / AUDITED_ROWS_A_SECOND
        audited += AUDITS_OF_A_DAY * objects_ * 0.02
        return {
            "S3 PUT": objects_ * PUT,
            "write units": objects_ * UNITS_AN_OBJECT * WRITE_UNIT,
            "Lambda": (batches + windows) * INVOCATION + seconds * ARCHIVE_GB * ARM_GB_SECOND,
            "audit": AUDITS_OF_A_DAY * objects_ * GET + audited * AUDIT_GB * ARM_GB_SECOND,
        }

    @property
    def stored_a_month(self) -> float:
        """The cost of a million rows for a month, in their first storage class."""
        return self._of_a_million(self.stored) / 1e9 * STANDARD_GB_MONTH

    def _of_a_million(self, number: float) -> float:
        return number / self.rows * 1e6


UNITS_AN_OBJECT = 2.0
"""Two updates of the chain's item; `units` counts them."""


def _entities(batch: Gathered, offset: int, sample: Sample) -> Counter[str]:
    deletions = sample.deletions
    return Counter(deletions[(place + offset) % SAMPLE].entity for place in batch.places)


def _rounded(count: int) -> int:
    """The count rounded to two digits, so that few sizes are packed."""
    step: int = 10 ** max(0, len(str(count)) - 2)
    return max(1, round(count / step) * step)


def units(sample: Sample, appended: int = 200) -> float:
    """Write units of an object, with the index row of its chain, counted on Dynoxide."""
    with serving() as endpoint:
        dynamodb = client(endpoint)
        meter = Meter(dynamodb)
        table, bucket = Table(dynamodb, create_table(dynamodb)), MemoryBucket()
        archiver = Archiver(table, bucket, sample.ledger)
        messages = [deletion for deletion in sample.deletions if deletion.entity == "Message"]
        with meter.counting() as consumed:
            for place in range(appended):
                some = [message.record for message in messages[place * 5 : place * 5 + 5]]
                event = {"shardId": "shardId-1", "Records": some}
                if archiver.archive(Batch.parse(event), RetryBudget.for_seconds(60)) is not None:
                    raise RuntimeError("not archived")
    return consumed.writes / len(bucket.objects)


def measure(ledger: Ledger) -> None:
    """Print objects a day, and a million rows in dollars."""
    sample, deployed = Sample(ledger), Mapping.deployed()
    sizes = sample.sizes
    console.print(
        f"mapping at prod: batches of {deployed.batch:,}, window {deployed.window} s; "
        f"a record is {sum(sizes) / len(sizes):,.0f} bytes of the event in the mean, "
        f"so 6 MB hold {6 * 1024 * 1024 * len(sizes) // sum(sizes):,}; "
        f"write units an object: {units(sample):.3f}\n"
    )
    packed = [
        (f"{count:,}", *(f"{sample.packed(entity, count) / count:,.0f}" for entity in sample.rows))
        for count in (1, 10, 100, 1_000, 5_000)
    ]
    markdown("Bytes a row, gzipped", ("rows of an object", *sample.rows), packed)
    days = {
        (rate, shards): Day.at(rate, replace(deployed, shards=shards), sample)
        for shards in (SMALL_TABLE, deployed.shards)
        for rate in RATES
    }
    markdown(
        "Objects a day, of two entities",
        (
            "deletions an hour",
            "shards",
            "batches",
            "objects",
            "rows an object",
            "KB an object",
            "of 128 KB or more",
        ),
        [
            (
                f"{rate:,}",
                str(shards),
                f"{day.batches:,}",
                f"{day.objects:,}",
                f"{day.rows / day.objects:,.1f}",
                f"{day.stored / day.objects / 1024:,.1f}",
                f"{day.movable:,}",
            )
            for (rate, shards), day in days.items()
        ],
    )
    heads = next(iter(days.values())).dollars
    markdown(
        "Dollars a million archived rows",
        ("deletions an hour", "shards", *heads, "sum", "bill a month", "a month kept"),
        [
            (
                f"{rate:,}",
                str(shards),
                *(f"{amount:.3f}" for amount in day.dollars.values()),
                f"**{sum(day.dollars.values()):.3f}**",
                f"{sum(day.dollars.values()) * day.rows * 30 / 1e6:.2f}",
                f"{day.stored_a_month:.4f}",
            )
            for (rate, shards), day in days.items()
        ],
    )
    _windows(deployed, sample)


def _windows(deployed: Mapping, sample: Sample) -> None:
    """Print the objects and costs under other windows and batch sizes."""
    rows = []
    for window, batch in ((60, 10_000), (300, 1_000), (300, 10_000)):
        other = replace(deployed, window=window, batch=batch, shards=SMALL_TABLE)
        days = [Day.at(rate, other, sample) for rate in RATES]
        rows.append(
            (
                f"{window} s, {batch:,}",
                *(f"{day.objects:,}" for day in days),
                *(f"{sum(day.dollars.values()):.2f}" for day in days),
            )
        )
    heads = [f"objects at {rate:,}" for rate in RATES] + [f"$ at {rate:,}" for rate in RATES]
    title = f"Other windows and batches, {SMALL_TABLE} shards: objects a day, $ a million rows"
    markdown(title, ("window, batch", *heads), rows)
