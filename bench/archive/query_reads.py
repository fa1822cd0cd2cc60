"""Partitions, objects and bytes that a selection of the archive reads, and how many exist.

The real archiver writes 100,000 rows to a bucket in memory, in the batches that Lambda would
gather. The rows are selected and metered in the same manner as in ``daicho archive query``. Athena
reads the same objects for the same entity and days, since partitions are folders.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from rich.progress import track

from bench.archive.batching import Gathered, Mapping, gather_batches
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
from tests.support.memory_stores import MemoryBucket, MemoryTable

ROWS = 100_000
DAYS = 14
SHARDS = 4
FIRST = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)
ATHENAS_LEAST, DOLLARS_A_TERABYTE = 10_000_000, 5
"""The minimum number of billed bytes of a query (https://aws.amazon.com/athena/pricing/)."""


@dataclass
class FilledArchive:
    """An archive and the deletions that it contains."""

    ledger: Ledger
    deletions: Sequence[Deletion]
    table: MemoryTable = field(default_factory=MemoryTable)
    bucket: MemoryBucket = field(default_factory=MemoryBucket)

    @classmethod
    def of(cls, ledger: Ledger) -> FilledArchive:
        """Two weeks of deletions, archived in their order."""
        times = moments(ROWS, FIRST, DAYS)
        filled = cls(ledger, list(Deletions(ledger).at(times)))
        mapping = replace(Mapping.deployed(), shards=SHARDS)
        seconds = [(time - FIRST).total_seconds() for time in times]
        sizes = [len(json.dumps(deletion.record)) for deletion in filled.deletions]
        batches = list(gather_batches(seconds, sizes, mapping))
        archiver = Archiver(filled.table, filled.bucket, ledger)
        for batch in track(batches, f"{ROWS:,} rows", console=console, transient=True):
            if archiver.archive(filled.event(batch), RetryBudget.for_seconds(60)) is not None:
                raise RuntimeError("not archived")
        return filled

    def event(self, batch: Gathered) -> Batch:
        """A batch in the form that the consumer receives."""
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
        """Raise an error if the archive is not sound or does not contain all rows."""
        days = Selection(since=FIRST, until=FIRST + dt.timedelta(days=DAYS)).days
        report = Verifier(self.table, ArchiveReader(self.bucket)).verify(
            days, ["Download", "Message"]
        )
        if not report.is_sound or report.counts.rows != ROWS:
            raise RuntimeError(f"not what was archived: {report.to_json()}")


def day(number: int) -> dt.datetime:
    """Midnight of a day, counted from the first one."""
    return FIRST + dt.timedelta(days=number)


def selections(filled: FilledArchive) -> dict[str, Selection]:
    """The measured selections, by their descriptions."""
    one = next(
        deletion
        for deletion in filled.deletions
        if deletion.entity == "Message" and deletion.at > day(5)
    )
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


def find_needed_folders(filled: FilledArchive, selection: Selection) -> set[str]:
    """The folders that can contain rows of the selection, computed from the selection alone."""
    entities = selection.folders or ("Download", "Message")
    days = [day(number).date() for number in range(DAYS)]
    folders = {
        render_folder(entity, date).rstrip("/")
        for entity in entities
        for date in days
        if date in selection.days
    }
    return folders & filled.partitions


def count_wanted_rows(filled: FilledArchive, selection: Selection) -> int:
    """Count the rows of the selection in the deletions, without the archive."""
    return sum(
        (not selection.entities or deletion.entity in selection.entities)
        and selection.tenant in (None, deletion.tenant)
        and selection.key in (None, deletion.key)
        and (selection.since is None or deletion.at >= selection.since)
        and (selection.until is None or deletion.at < selection.until)
        for deletion in filled.deletions
    )


def measure(ledger: Ledger) -> bool:
    """Print the reads of each selection.

    Return whether no selection read a partition that it does not need.
    """
    filled = FilledArchive.of(ledger)
    filled.verify()
    rows, sound = [], True
    for title, selection in selections(filled).items():
        bucket = MeteredBucket(filled.bucket)
        count = sum(1 for _ in ArchiveReader(bucket).read_rows(selection, _broken))
        read = bucket.reads
        folders = find_needed_folders(filled, selection)
        sound &= read.partitions == folders and count == count_wanted_rows(filled, selection)
        billed = max(read.bytes, ATHENAS_LEAST) / 1e12 * DOLLARS_A_TERABYTE
        rows.append(
            (
                title,
                f"{count:,}",
                f"{len(read.partitions)} of {len(filled.partitions)}",
                f"{read.objects:,}",
                f"{read.bytes:,}",
                f"{read.bytes / filled.size:.1%}",
                f"{read.listed:,}",
                f"{billed:.6f}",
            )
        )
    heads = (
        "query",
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
