"""What a selection of the archive reads: partitions, objects and bytes, of how many there are.

100,000 rows by the real archiver over a bucket in memory, in batches as Lambda would have gathered
them; selected and metered as ``daicho archive query`` does. Athena reads the same objects for the
same entity and days, since partitions are folders.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from rich.progress import track

from bench.archive.batching import Gathered, Mapping, gathered
from bench.archive.deletion_generator import TENANTS, Deletion, Deletions, moments
from bench.archive.report import console, markdown
from daicho.archive.archiver import Archiver
from daicho.archive.chain import render_folder
from daicho.archive.object_format import CorruptObjectError
from daicho.archive.reader import ArchiveReader, Selection
from daicho.archive.verifier import Verifier
from daicho.plan import Ledger
from daicho.runtime.retry import RetryBudget
from daicho.stream.records import Batch
from daicho_cli.archive.session import MeteredBucket
from tests.delivery.aws.memory import MemoryBucket, MemoryTable

ROWS = 100_000
DAYS = 14
SHARDS = 4
FIRST = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)
ATHENAS_LEAST, DOLLARS_A_TERABYTE = 10_000_000, 5
"""Bytes that a query is billed for at least (https://aws.amazon.com/athena/pricing/)."""


@dataclass
class Filled:
    """An archive, and what was put into it."""

    ledger: Ledger
    deletions: Sequence[Deletion]
    table: MemoryTable = field(default_factory=MemoryTable)
    bucket: MemoryBucket = field(default_factory=MemoryBucket)

    @classmethod
    def of(cls, ledger: Ledger) -> Filled:
        """Two weeks of deletions, archived as they come."""
        times = moments(ROWS, FIRST, DAYS)
        filled = cls(ledger, list(Deletions(ledger).at(times)))
        mapping = replace(Mapping.deployed(), shards=SHARDS)
        seconds = [(each - FIRST).total_seconds() for each in times]
        sizes = [len(json.dumps(each.record)) for each in filled.deletions]
        batches = list(gathered(seconds, sizes, mapping))
        archiver = Archiver(filled.table, filled.bucket, ledger)
        for batch in track(batches, f"{ROWS:,} rows", console=console, transient=True):
            if archiver.archive(filled.event(batch), RetryBudget.for_seconds(60)) is not None:
                raise RuntimeError("not archived")
        return filled

    def event(self, batch: Gathered) -> Batch:
        """A batch, as the consumer has it."""
        records = [self.deletions[place].record for place in batch.places]
        return Batch.parse({"shardId": f"shardId-{batch.shard:020d}-abcdef01", "Records": records})

    @property
    def partitions(self) -> set[str]:
        """All folders."""
        return {name.rpartition("/")[0] for name in self.bucket.objects}

    @property
    def size(self) -> int:
        """Bytes of all objects."""
        return sum(len(body) for body, _ in self.bucket.objects.values())

    def verify(self) -> None:
        """What is measured is sound."""
        days = Selection(since=FIRST, until=FIRST + dt.timedelta(days=DAYS)).days
        report = Verifier(self.table, ArchiveReader(self.bucket)).verify(
            days, ["Download", "Message"]
        )
        if not report.is_sound or report.counts.rows != ROWS:
            raise RuntimeError(f"not what was archived: {report.to_json()}")


def day(number: int) -> dt.datetime:
    """Midnight of a day, counted from the first one."""
    return FIRST + dt.timedelta(days=number)


def selections(filled: Filled) -> dict[str, Selection]:
    """What is asked, in words."""
    one = next(each for each in filled.deletions if each.entity == "Message" and each.at > day(5))
    return {
        "one entity, one day": Selection(entities=("Message",), since=day(5), until=day(6)),
        "one entity, one hour": Selection(
            entities=("Message",), since=day(5), until=day(5) + dt.timedelta(hours=1)
        ),
        "one tenant, one week": Selection(tenant=TENANTS[3], since=day(3), until=day(10)),
        "one tenant, one entity, one week": Selection(
            entities=("Download",), tenant=TENANTS[3], since=day(3), until=day(10)
        ),
        "one key, its day known": Selection(key=one.key, since=day(5), until=day(6)),
        "one key": Selection(key=one.key),
        "everything": Selection(),
    }


def needed(filled: Filled, selection: Selection) -> set[str]:
    """The folders that any of the rows could be in, by what is asked alone."""
    entities = selection.folders or ("Download", "Message")
    days = [day(number).date() for number in range(DAYS)]
    found = {render_folder(e, d).rstrip("/") for e in entities for d in days if d in selection.days}
    return found & filled.partitions


def wanted(filled: Filled, selection: Selection) -> int:
    """How many rows there are, by a plain look at what was put in."""
    return sum(
        (not selection.entities or each.entity in selection.entities)
        and selection.tenant in (None, each.tenant)
        and selection.key in (None, each.key)
        and (selection.since is None or each.at >= selection.since)
        and (selection.until is None or each.at < selection.until)
        for each in filled.deletions
    )


def measure(ledger: Ledger) -> bool:
    """Print what each selection reads; whether none has read a partition that it does not need."""
    filled = Filled.of(ledger)
    filled.verify()
    rows, sound = [], True
    for what, selection in selections(filled).items():
        metered = MeteredBucket(filled.bucket)
        found = sum(1 for _ in ArchiveReader(metered).read_rows(selection, _broken))
        read = metered.touched
        sound &= read.partitions == needed(filled, selection) and found == wanted(filled, selection)
        billed = max(read.bytes, ATHENAS_LEAST) / 1e12 * DOLLARS_A_TERABYTE
        rows.append(
            (
                what,
                f"{found:,}",
                f"{len(read.partitions)} of {len(filled.partitions)}",
                f"{read.objects:,}",
                f"{read.bytes:,}",
                f"{read.bytes / filled.size:.1%}",
                f"{read.listed:,}",
                f"{billed:.6f}",
            )
        )
    heads = (
        "asked",
        "rows",
        "partitions",
        "objects",
        "bytes",
        "of all",
        "names listed",
        "Athena, $",
    )
    markdown(
        f"{ROWS:,} rows of 2 entities and 20 tenants over {DAYS} days, "
        f"{len(filled.bucket.objects):,} objects, {filled.size:,} bytes",
        heads,
        rows,
    )
    return sound


def _broken(name: str, error: CorruptObjectError) -> None:
    raise RuntimeError(f"{name}: {error}")
