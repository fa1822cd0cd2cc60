"""Makes a restored copy fit to be the table of a stack whose own table is lost (rule 59, way B).

The copy has all items of the stack, of about one moment: transactions may be torn. Nothing writes
to it yet. `TakeOver` declares a gap in the stream, makes void what belongs to the lost table, and
makes agree what requests write in transactions. Then the stack opens. A recovery makes derived
state right, as after any gap (rule 60), with one phase more: `ReturnedLives`.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from daicho.archive.reader import Selection
from daicho.archive.row_format import ArchivedRow
from daicho.errors import DaichoError, TransactionFailedError, UnavailableError
from daicho.jobs.step import JobStep
from daicho.layout.backfill_state import RECORDED_KEY, find_older_update
from daicho.layout.marks import build_restoration_key
from daicho.rebuild.job import JOB_KEY
from daicho.rebuild.purge_job import PURGE_KEY
from daicho.rebuild.repair_job import REPAIR_KEY
from daicho.recovery.undone_requests import list_undone
from daicho.recovery.void import move_lost_batches, retire_lost_shards, void_claims
from daicho.redrive.code_lock import LOCK_KEY
from daicho.restore.item_states import is_same_life
from daicho.restore.run_record import RESTORE_KEY, RestoreRecord
from daicho.runtime.retry import RetryBudget, retry
from daicho.storage import attributes, keys
from daicho.storage.attributes import ItemKey, get_key
from daicho.storage.parallel_scan import ParallelScan, ScanRound, ScanSegments
from daicho.storage.protocols import StreamDescription, try_put, try_update
from daicho.storage.requests import ConditionCheck, ItemPage, Put, Scan, Update, to_key_image
from daicho.stream.gap import DISABLED, read_gap
from daicho.tally.watermark import WATERMARK_KEY, Watermark, store_watermark
from daicho.verify.findings import Finding
from daicho.verify.job import UNCOUNTED, VERIFY_KEY
from daicho.verify.kept_rows import list_kept_instances
from daicho.verify.owned_items import OwnedItems, select_checked
from daicho.verify.steps import Phase, VerifyDependencies

STALE_PARTITIONS = frozenset({"archiver", "heartbeat"})
"""The stack's partitions whose items say how far the stream of the lost table was read."""
STALE_KEYS = (JOB_KEY, PURGE_KEY, REPAIR_KEY, VERIFY_KEY, LOCK_KEY)
"""Jobs of the lost table: their positions may be ahead of what they have done to this one."""
SEGMENTS, ITEMS_PER_PAGE = 16, 500
UNDONE = "request without its effect"
SNAPSHOT_MARGIN = dt.timedelta(hours=1)
"""How long before its moment a copy may have been read: clocks differ."""


class TakeOverError(DaichoError):
    """The table cannot be taken over. The message names what to do."""


@dataclass
class TakeOverReport:
    """What a take-over has done.

    ``repaired``: by kind, what belonged to an item and did not agree. ``decisions``: what somebody
    has to decide, or has lost.
    """

    scanned: int = 0
    repaired: Counter[str] = field(default_factory=Counter)
    decisions: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class _PageResult:
    """What one page has: shards, the oldest generations by entity, and items of no more use."""

    shards: set[str] = field(default_factory=set)
    oldest: dict[str, int] = field(default_factory=dict)
    stale: list[ItemKey] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    undone: int = 0


@dataclass(frozen=True, kw_only=True)
class TakeOver:
    """Takes over one table. It may be killed and repeated, until the stack is opened.

    ``at``: the moment of the copy. ``renew``: called again and again; it raises if another run has
    begun.
    """

    on: VerifyDependencies
    at: dt.datetime
    budget: RetryBudget
    renew: Callable[[], None] = lambda: None

    def run(self) -> TakeOverReport:
        """Do all that has to be done before anybody writes to the table.

        Raises:
            TakeOverError: the table has no stream that is newer than all of its numbers.
            StoreError: a store does not answer; call again.
        """
        stream = self.on.stream.describe()
        self._declare_gap(stream)
        report, result = TakeOverReport(), _PageResult()
        self._scan(report, result)
        self._void(stream, result.shards)
        for entity, generation in result.oldest.items():
            try_update(self.on.store, find_older_update(entity, generation, self.on.now()))
        self.on.store.batch_write(deletes=[*result.stale, *STALE_KEYS])
        return report

    def _declare_gap(self, stream: StreamDescription) -> None:
        """Open a gap first: from now on figures are uncertain, and no job begins."""
        store, now = self.on.store, self.on.now()
        gap = read_gap(store)
        if not stream.is_enabled:
            raise TakeOverError(DISABLED)
        if stream.label < gap.label:
            raise TakeOverError(
                f"the stream's label {stream.label} is before {gap.label}: its numbers are too low"
            )
        reason = f"the table was restored from a copy of {keys.render_instant(self.at)}"
        if reason in gap.reasons:
            return
        # The deployment that follows checks this table as that of a new release.
        removal = Update(RECORDED_KEY, "REMOVE deployed", "attribute_exists(PK)")
        try_update(store, removal)
        # A torn copy may have later times than slots: nothing is known of what figures include.
        before = Watermark.from_item(store.get(WATERMARK_KEY, consistent=True))
        unknown = Watermark(revision=before.revision + 1, gap=True)
        after = replace(gap.add_reasons([reason], "", now), begin="")
        if not (try_put(store, store_watermark(unknown)) and try_put(store, after.build_put())):
            raise UnavailableError("the rollup works on the table: close it first")

    def _scan(self, report: TakeOverReport, result: _PageResult) -> None:
        """Read all items, and make agree what belongs to them."""

        def collect(scan_round: ScanRound[_PageResult]) -> None:
            report.scanned += scan_round.scanned
            for page in scan_round.results:
                result.shards |= page.shards
                result.stale += page.stale
                for entity, generation in page.oldest.items():
                    known = result.oldest.get(entity, generation)
                    result.oldest[entity] = min(known, generation)
                report.repaired.update({UNDONE: page.undone} if page.undone else {})
                report.repaired.update(str(each.kind) for each in page.findings if each.repaired)
                report.decisions += [each.to_json() for each in page.findings if not each.repaired]
            self.renew()

        segments = ScanSegments.start(1 if self.on.parallelism == 1 else SEGMENTS)
        scan = Scan(limit=ITEMS_PER_PAGE, consistent=True)
        reader = ParallelScan(self.on.store, scan, self._read_page, self.on.parallelism)
        if not reader.run(segments, self.budget, collect):
            raise UnavailableError("time was over before the table was read")

    def _read_page(self, page: ItemPage) -> _PageResult:
        result, ledger = _PageResult(), self.on.ledger
        for image in page.items:
            head, kind, *rest = [*keys.parse(image["PK"]["S"]), ""]
            if not head and kind == "shard":
                result.shards.add(rest[0])
            elif not head and kind in STALE_PARTITIONS:
                result.stale.append(get_key(image))
            entity, generation = image.get("type", {}).get("S", ""), image.get("gen", {}).get("N")
            if head and entity in ledger.entities and generation is not None:
                known = result.oldest.get(entity, int(generation))
                result.oldest[entity] = min(known, int(generation))
        undone = list_undone(page.items, self.on.store, ledger, self.at)
        result.stale += undone
        result.undone += len(undone)
        owned = OwnedItems(self.on)
        for key in select_checked(ledger, "", page.items):
            for fault in owned.find_faults(key):
                repairs = bool(fault.repair)
                if fault.confirm(self.on.store, self.budget, repairs=repairs):
                    result.findings.append(fault.to_finding(repaired=repairs))
        return result

    def _void(self, stream: StreamDescription, shards: set[str]) -> None:
        """Retire the shards of the lost table, and make void what no redrive may apply any more.

        A shard item is retired, not deleted: a late batch of the lost table then writes nothing.
        """
        on, now = self.on, self.on.now()
        lost = shards - {shard.id for shard in stream.shards}
        retire_lost_shards(on.store, stream.label, lost, now)
        move_lost_batches(on.failures, stream.label, emulated=not stream.label)
        if shard := void_claims(on.store, on.failures, stream.label, now):
            raise TakeOverError(f"claims of {shard} are open, which is of the stream of now")


class ReturnedLives(Phase):
    """Gives each archived row whose life is live again a record, so that its kept amounts end.

    The item had not expired at the moment of the copy, and expired later in the lost table. So its
    row is no older than the copy.
    """

    name = "lives"

    def run(self) -> JobStep | None:
        """Continue behind the object that the job names; only in the recovery of a take-over."""
        job, archive, ledger = self.job, self.on.archive, self.on.ledger
        image = self.on.store.get(RESTORE_KEY, consistent=True)
        record = None if image is None else RestoreRecord.from_image(image)
        kept = tuple(each for each in ledger.archived_types if list_kept_instances(each, ledger))
        is_taken_over = record is not None and bool(job.recovers) and record.gap == job.recovers
        if record is None or archive is None or not is_taken_over or not kept:
            return None
        job.places[UNCOUNTED] = True
        since = dt.datetime.fromisoformat(record.at) - SNAPSHOT_MARGIN
        behind = str(job.places.get(self.name, ""))
        # What is in an object that cannot be read is reported, and keeps the gap open.
        objects = archive.read_objects(
            Selection(kept, since=since), lambda _name, _error: None, behind=behind
        )
        for name, rows in objects:
            self._record_returned(rows)
            job.places[self.name] = name
            if not self.budget.has_time_left:
                self.step.save()
                return JobStep(done=False)
        self.step.save()
        return None

    def _record_returned(self, rows: Sequence[ArchivedRow]) -> None:
        live = self.on.store.batch_get({row.key for row in rows}).require_all()
        for row in rows:
            image = live.get(row.key)
            if image is None or not is_same_life(row.item, image):
                continue
            key = build_restoration_key(row.tenant, row.entity, row.seq)
            values = {"at": keys.render_instant(self.on.now()), "gen": row.gen or 0}
            put = Put(
                {**to_key_image(key), **attributes.to_image(values)}, "attribute_not_exists(PK)"
            )
            check = ConditionCheck(
                row.key,
                "#created = :created",
                {"#created": "created_at"},
                {":created": image["created_at"]},
            )
            # Refused: the row has a record, or the life is over by now.
            with suppress(TransactionFailedError):
                retry(partial(self.on.store.transact, [check, put]), self.budget)
