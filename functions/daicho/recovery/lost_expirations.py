"""Archives what expired in a gap, from a copy of the table of a moment before it (rule 60).

The archiver never gets a record of such a removal. An item expired in the gap if the copy has it,
its ``ttl`` is at most the end of the gap, its life is over, and the archive has no row of it. Its
row takes the way of a batch that Lambda gave up (rule 22), as a record of a shard of its own. The
number of the record follows from the life. So each life gets one row, however often this runs.

A user may have deleted the item since the copy: of that, only another item with its key that was
created before the ``ttl`` is evidence.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import cached_property
from itertools import islice

from daicho.archive.closed_tenants import ClosedTenants
from daicho.archive.object_format import CorruptObjectError
from daicho.archive.reader import ArchiveReader, Selection
from daicho.archive.rearchiver import Rearchiver
from daicho.plan import Ledger
from daicho.redrive.slot_decision import STREAM_RETENTION
from daicho.restore.differences import SEGMENTS
from daicho.restore.item_states import is_same_life
from daicho.restore.move_back import SNAPSHOT_MARGIN, MoveBackError, wait_for_archiver
from daicho.runtime.clock import ClockReading, read_clocks, utc_now
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.retry import RetryBudget
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image, ItemKey, get_key
from daicho.storage.bucket import Bucket
from daicho.storage.parallel_scan import ParallelScan, ScanRound, ScanSegments
from daicho.storage.protocols import DescribesStream
from daicho.storage.requests import ItemPage, Scan
from daicho.storage.table import Table
from daicho.stream.gap import LATE, StreamGap
from daicho.stream.heartbeat_watcher import HeartbeatRun
from daicho.stream.records import NUMBER_DIGITS, Batch, StreamRecord, render_sequence

SHARD = "gap"
"""The shard of the chains, and the label of the numbers, of rows from copies."""
MAX_NUMBER: int = 10**NUMBER_DIGITS
BATCH_ROWS = 1_000
"""Rows of an object."""


@dataclass(frozen=True, kw_only=True)
class LostExpirations:
    """Archives them, by one copy.

    ``at``: the moment of the copy. ``until``: the end of the gap; later removals have a record.
    ``settled``: when the last archiver that read the earlier stream has ended. ``run_id``: no other
    run has it. ``renew``: called again and again.
    """

    store: Table
    copy: Table
    stream: DescribesStream
    bucket: Bucket
    failures: Bucket
    ledger: Ledger
    at: dt.datetime
    until: dt.datetime
    settled: dt.datetime
    run_id: str
    budget: RetryBudget
    threads: int = 8
    now: Callable[[], dt.datetime] = utc_now
    clocks: Callable[[], ClockReading] = read_clocks
    renew: Callable[[], None] = lambda: None
    lives: dict[int, ItemKey] = field(default_factory=dict)
    """Those without a row, by their numbers: some 300 bytes each."""

    def archive(self) -> int:
        """Archive what expired in the gap; returns how many items. It may be killed and repeated.

        Raises:
            MoveBackError: the archiver is late, or an object of the archive cannot be read.
            StoreError: a store does not answer.
        """
        self.lives.clear()
        self._find_ended()
        if not self.lives:
            return 0
        self.budget.sleep(max(0.0, (self.settled - self.now()).total_seconds()))
        # What has a record is in the archive then.
        heartbeats = HeartbeatRun(self.run_id, tuple(sorted(self.ledger.archived_types)))
        wait_for_archiver(self.store, self.stream, self.failures, heartbeats, self.now, self.renew)
        self._remove_archived()
        numbers, added = iter(sorted(self.lives)), 0
        while chosen := list(islice(numbers, BATCH_ROWS)):
            self.renew()
            images = self.copy.batch_get(self.lives[each] for each in chosen).require_all()
            records = [self._build_record(each, images[self.lives[each]]) for each in chosen]
            rearchiver = Rearchiver(self.store, self.bucket, self.ledger, self.now)
            batch = Batch(SHARD, tuple(records))
            added += rearchiver.rearchive(batch, self.budget).added
        return added

    def _find_ended(self) -> None:
        names = {"#type": "type", "#ttl": "ttl"}
        values: dict[str, attributes.AttributeValue] = {
            f":t{number}": {"S": entity} for number, entity in enumerate(self.ledger.archived_types)
        }
        if not values:
            return
        condition = f"#type IN ({', '.join(values)}) AND #ttl <= :until"
        values[":until"] = attributes.to_value(int(self.until.timestamp()))

        def collect(scan_round: ScanRound[dict[int, ItemKey]]) -> None:
            for lives in scan_round.results:
                self.lives.update(lives)
            self.renew()

        scan = Scan(filter=condition, names=names, values=values)
        segments = ScanSegments.start(1 if self.threads == 1 else SEGMENTS)
        reader = ParallelScan(self.copy, scan, self._select_ended, self.threads)
        if not reader.run(segments, self.budget, collect):
            raise MoveBackError("time was over before the copy was read: run it again")

    def _select_ended(self, page: ItemPage) -> dict[int, ItemKey]:
        page_keys = [get_key(image) for image in page.items]
        live = self.store.batch_get(page_keys, consistent=True).require_all()
        return {
            compute_number(image): key
            for key, image in zip(page_keys, page.items, strict=True)
            if has_ended(image, live.get(key))
            and not self._closed.is_closed(keys.parse(key.pk)[0])  # its items were deleted
        }

    @cached_property
    def _closed(self) -> ClosedTenants:
        return ClosedTenants(self.store, self.clocks)

    def _remove_archived(self) -> None:
        def refuse_broken(name: str, error: CorruptObjectError) -> None:
            raise MoveBackError(f"{name} of the archive cannot be read: {error}")

        selection = Selection(tuple(self.ledger.archived_types), since=self.at - SNAPSHOT_MARGIN)
        for row in ArchiveReader(self.bucket).read_rows(selection, refuse_broken):
            self.lives.pop(compute_number(row.item), None)

    def _build_record(self, number: int, image: Image) -> StreamRecord:
        digits = f"{number:0{NUMBER_DIGITS}}"
        expired = dt.datetime.fromtimestamp(attributes.get_integer(image, "ttl") or 0, dt.UTC)
        return StreamRecord(
            seq=render_sequence(SHARD, digits),
            number=digits,
            shard=SHARD,
            key=get_key(image),
            old=image,
            new=None,
            expired=True,
            at=max(self.at, expired),
        )


def find_end(gap: StreamGap, label: str, now: dt.datetime) -> dt.datetime:
    """The time up to which records may be lost. ``label``: of the stream of now; "" has no time.

    A record that the stream has removed is a day older than the time at which somebody read on.
    """
    ends = [gap.found_at, *([label] if label else [])]
    times = [dt.datetime.fromisoformat(each) for each in ends]
    if LATE in gap.reasons:
        times.append(now - STREAM_RETENTION)
    return max(each if each.tzinfo else each.replace(tzinfo=dt.UTC) for each in times)


def compute_number(image: Image) -> int:
    """The number of the record of an item's expiry: of its key, and of when its life began."""
    key, life = get_key(image), attributes.get_text(image, "created_at") or ""
    digest = hashlib.sha256("\0".join((*key, life)).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest) % MAX_NUMBER


def has_ended(image: Image, live: Mapping[str, attributes.AttributeValue] | None) -> bool:
    """Whether a life that the copy has has ended by its expiry, as the live table shows."""
    if live is None:
        return True
    created = attributes.get_text(live, "created_at")
    if is_same_life(image, live) or created is None:
        return False
    # No item can be created at the key of an archived one that has expired, before DynamoDB has
    # removed it.
    ttl = attributes.get_integer(image, "ttl") or 0
    return dt.datetime.fromisoformat(created).timestamp() >= ttl
