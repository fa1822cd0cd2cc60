"""The redrive: applies what was set aside, exactly once, after a fix (EXACTNESS rules 15, 16, 22).

First it applies the claims of quarantined records, shard by shard in ascending order. Then it
applies the batches that Lambda gave up, in that order: the projector's under claims, the archive's
into its chains. It may be called again, while others write, beside another redrive, and after a
kill at any point: the claim of a done record shows that it is done.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from typing import Protocol

from daicho.errors import DaichoError, UnavailableError
from daicho.plan import Ledger
from daicho.redrive.applier import Applier, FullOfDoneError, Outcome
from daicho.redrive.cleanup import ClaimCleanup
from daicho.redrive.failure_bucket import (
    END,
    FailedBatch,
    FailureBucket,
    FailureGroup,
    FailureObjects,
    RecordRearchiver,
)
from daicho.redrive.report import RedrivePosition, RedriveReport, RedriveRequest
from daicho.runtime.clock import utc_now
from daicho.runtime.retry import RetryBudget, retry
from daicho.runtime.settings import Settings
from daicho.storage.protocols import (
    GetsItems,
    PutsItems,
    QueriesItems,
    TransactsWrites,
    UpdatesItems,
)
from daicho.storage.requests import Query
from daicho.stream import claims
from daicho.stream.claim_writer import ShardFullError, put_claim
from daicho.stream.claims import Claim, ShardClaims
from daicho.stream.records import Batch, EventError, StreamRecord
from daicho.stream.recount_list import LIST, Recount

MAX_RECOUNTS = 500
"""Tallies that a report names: a function's answer is 6 MB at most."""
_log = logging.getLogger(__name__)


class RedriveStore(GetsItems, QueriesItems, PutsItems, UpdatesItems, TransactsWrites, Protocol):
    """The operations of the table that the redrive needs."""


class MissingPayloadError(DaichoError):
    """A claim whose record is not in the bucket."""


class EndOfCallError(Exception):
    """A call has done as much as it may; the next goes on behind its position."""


@dataclass(frozen=True)
class Redrive:
    """Everything that a redrive uses. ``projector``: the function whose batches it applies.

    ``archiver`` is the one whose batches go into the ``archive``; without one they are left in
    place. ``emulated``: as `Batch.parse` takes it.
    """

    store: RedriveStore
    objects: FailureObjects
    ledger: Ledger
    projector: str
    dirty_shards: int
    emulated: bool = False
    threads: int = 1
    now: Callable[[], dt.datetime] = utc_now
    archiver: str = ""
    archive: RecordRearchiver | None = None

    @classmethod
    def build(
        cls,
        settings: Settings,
        ledger: Ledger,
        store: RedriveStore,
        failures: FailureObjects,
        archive: RecordRearchiver,
        *,
        threads: int,
        now: Callable[[], dt.datetime],
    ) -> Redrive:
        """The redrive of a deployed stack."""
        return cls(
            store,
            failures,
            ledger,
            projector=settings.project_function,
            dirty_shards=settings.dirty_shards,
            emulated=settings.emulated_stream,
            threads=threads,
            now=now,
            archiver=settings.archive_function,
            archive=archive,
        )

    @property
    def functions(self) -> frozenset[str]:
        """The functions whose batches it deals with."""
        return frozenset({self.projector} | ({self.archiver} if self.archive else set()))

    @cached_property
    def applier(self) -> Applier:
        """What applies records: one for all calls, since it keeps its threads."""
        return Applier(
            self.store,
            self.ledger,
            dirty_shards=self.dirty_shards,
            threads=self.threads,
            now=self.now,
        )

    def run(self, request: RedriveRequest, retry_budget: RetryBudget) -> RedriveReport:
        """List or apply records, up to the request's limit and while time is left.

        Raises:
            UnavailableError: not even the recount list can be read.
        """
        return _RedriveCall(self, request, retry_budget).run()


class _RedriveCall:
    """One call of a redrive."""

    def __init__(
        self, redrive: Redrive, request: RedriveRequest, retry_budget: RetryBudget
    ) -> None:
        self._redrive, self._objects, self._store = redrive, redrive.objects, redrive.store
        self._applies = request.action == "apply"
        self._patience = retry_budget
        self._records_left = request.limit
        self._begin = self._position = request.begin
        self._report = RedriveReport()
        self._failure_bucket = FailureBucket(
            self._objects, redrive.functions, redrive.emulated, retry_budget, self._report
        )
        self._cleaning = ClaimCleanup(self._store, self._objects, now=redrive.now)
        self._full: dict[str, FullOfDoneError] = {}
        self._cleaned: set[str] = set()

    def run(self) -> RedriveReport:
        """Process the records behind the call's position, as far as limit and time allow."""
        report = self._report
        try:
            if self._begin.phase == "claims":
                for shard in self._list_marked_shards(self._begin.place):
                    self._apply_claims(shard)
                self._position = RedrivePosition("discarded")
            self._apply_discarded()
            if self._applies:
                self._clean_up()
            report.finished = True
        except (EndOfCallError, UnavailableError) as end:
            _log.info("the call ends at %s: %r", self._position, end)
            report.cursor = self._position.cursor
        report.recount = [
            {"tally": recount.tally, "numbers": list(recount.numbers), "since": recount.since}
            for recount in islice(self._list_recounts(), MAX_RECOUNTS)
        ]
        return report

    # --- Claims ------------------------------------------------------------------------------

    def _list_marked_shards(self, low: str = "") -> Iterator[str]:
        """The shards that have open claims."""
        query = Query(claims.QUARANTINE, index="GSI2", low=low or None)
        for page in self._store.query_pages(query):
            yield from (item["GSI2SK"]["S"] for item in page.items)

    def _apply_claims(self, shard: str) -> None:
        tried = self._begin.seq if shard == self._begin.place else ""
        waiting = [claim for claim in self._read_shard(shard).open_claims if claim.seq > tried]
        discarded = any(claim.state == "discarded" for claim in waiting)
        has_batches = discarded and shard in self._failure_bucket.list_shards()
        for claim in waiting:
            self._count_one()
            if claim.state != "discarded":
                self._apply_claim(shard, claim)
            elif not has_batches:  # else its record is in one of Lambda's objects
                self._report_missing(shard, claim, f"no batch of {shard}")
            self._position = RedrivePosition("claims", shard, claim.seq)

    def _apply_claim(self, shard: str, claim: Claim) -> None:
        name = claims.render_payload_name(shard, claim.seq)
        body = retry(lambda: self._objects.read(name), self._patience)
        if body is None:
            self._report_missing(shard, claim, f"no object {name}")
            return
        try:
            payload = json.loads(body)
            last_error = dict(payload["error"])
            event = {"shardId": shard, "Records": [payload["record"]]}
            (record,) = Batch.parse(event, emulated=self._redrive.emulated).records
        except (EventError, ValueError, KeyError, TypeError) as error:
            self._report.add_claim(shard, claim, None, error)
            return
        if not self._applies:
            self._report.add_claim(shard, claim, record, last_error)
        else:
            self._apply(record, claim)

    def _report_missing(self, shard: str, claim: Claim, detail: str) -> None:
        """Report a claim without its record, unless another redrive has just done it."""
        stored_claim = self._read_shard(shard).claims.get(claim.seq)
        if stored_claim is None or stored_claim.state == "done":
            self._report.already_done += 1
        else:
            self._report.add_claim(shard, claim, None, MissingPayloadError(detail))

    def _apply(self, record: StreamRecord, claim: Claim) -> bool:
        """Apply a record; True if it is done."""
        # Before and not after: of a record that ends the process this is the last log line.
        about = {"seq": record.seq, "shard": record.shard, "item": [record.key.pk, record.key.sk]}
        _log.info("record is applied", extra=about)
        result = self._redrive.applier.apply(record, claim, self._patience)
        if result.outcome is Outcome.LATER:
            raise EndOfCallError
        if result.is_done:
            self._report.applied += result.outcome is Outcome.APPLIED
            self._report.already_done += result.outcome is Outcome.ALREADY
            self._report.uncertain += bool(result.recount)
            if claim.state != "discarded":
                self._cleaning.archive_payloads(claims.render_payload_name(record.shard, claim.seq))
        elif result.error is not None:
            self._report.add_claim(record.shard, claim, record, result.error)
        if isinstance(result.error, FullOfDoneError):
            self._full[record.shard] = result.error
        return result.is_done

    # --- Discarded batches -------------------------------------------------------------------

    def _apply_discarded(self) -> None:
        """Batches in the order in which they were given up; those of one second by number."""
        begin = self._begin if self._begin.phase == "discarded" else RedrivePosition("discarded")
        for group in self._failure_bucket.list_groups(begin):
            if self._applies:
                # Its claims are read before its objects: no done claim is removed while one exists.
                shard = self._read_shard(group.shard)
                if shard.is_full_of_done and shard.id not in self._cleaned:
                    shard = self._expire_done_claims(shard)
                failed_batches = self._failure_bucket.read_batches(group)
                if archive := self._redrive.archive:
                    self._archive_batches(
                        group, archive, self._select_batches(failed_batches, archived=True)
                    )
                self._apply_batches(
                    group, shard, self._select_batches(failed_batches, archived=False)
                )
            else:
                self._count_one()
                self._failure_bucket.read_batches(group)
            self._position = RedrivePosition("discarded", group.name, END)

    def _select_batches(
        self, failed_batches: Mapping[str, FailedBatch], *, archived: bool
    ) -> dict[str, Batch]:
        """The batches of the archive's consumer, or those of the projector."""
        archiver = self._redrive.archiver if self._redrive.archive else None
        return {
            name: failed_batch.batch
            for name, failed_batch in failed_batches.items()
            if (failed_batch.function == archiver) == archived
        }

    def _archive_batches(
        self, group: FailureGroup, archive: RecordRearchiver, batches: Mapping[str, Batch]
    ) -> None:
        """Archive the batches that it lacks, in order, each whole: repeated rows do no harm."""
        lasts = {
            name: max((r.seq for r in batch.records), default=END)
            for name, batch in batches.items()
        }
        for name, last in sorted(lasts.items(), key=lambda entry: entry[1]):
            if last <= group.tried:
                continue
            self._count_one()
            try:
                counts = archive.rearchive(batches[name], self._patience)
            except UnavailableError:
                raise
            except DaichoError as error:  # a link that cannot be read: the others go on
                self._report.discarded[name]["error"] = str(error)
            else:
                self._report.applied += counts.added
                self._report.already_done += counts.already
                self._failure_bucket.archive_processed(name)
            self._position = RedrivePosition("discarded", group.name, last)

    def _apply_batches(
        self, group: FailureGroup, shard: ShardClaims, batches: Mapping[str, Batch]
    ) -> None:
        records = {
            stream_record.seq: stream_record
            for batch in batches.values()
            for stream_record in batch.records
        }
        undone: set[str] = set()
        for seq in sorted(records):
            record = records[seq]
            existing = shard.claims.get(seq)
            if record.entity is None or (existing is not None and existing.state == "done"):
                continue
            if seq <= group.tried:
                undone.add(seq)
                continue
            self._count_one()
            if not self._adopt_record(record, existing):
                undone.add(seq)
            self._position = RedrivePosition("discarded", group.name, seq)
        for name, batch in batches.items():
            if undone.isdisjoint(record.seq for record in batch.records):
                self._failure_bucket.archive_processed(name)

    def _adopt_record(self, record: StreamRecord, existing: Claim | None) -> bool:
        """Put the record's claim if it has none, and apply it under the one that it has."""
        if existing is None:
            existing = Claim.for_record(record, "discarded", self._redrive.now())
            if full := self._full.get(record.shard):
                # Claims that no call can finish would take the projector's room (rule 18).
                self._report.add_claim(record.shard, existing, record, full)
                return False
            put = partial(put_claim, self._store, record.shard, existing)
            try:
                if not retry(put, self._patience):
                    stored_claim = self._read_shard(record.shard).claims.get(record.seq)
                    if stored_claim is None or stored_claim.state == "done":
                        self._report.already_done += 1
                        return True
                    existing = stored_claim  # it governs alone
            except ShardFullError as error:
                self._report.add_claim(record.shard, existing, record, error)
                return False
        return self._apply(record, existing)

    # --- The end -----------------------------------------------------------------------------

    def _clean_up(self) -> None:
        """Remove, at the end of a complete run, the claims that nobody can need any more."""
        shards_with_batches = self._failure_bucket.list_shards()
        for shard in list(self._list_marked_shards()):
            numbers = None if shard in shards_with_batches else frozenset[str]()
            retry(partial(self._cleaning.expire_claims, shard, numbers), self._patience)

    def _expire_done_claims(self, shard: ShardClaims) -> ShardClaims:
        """Remove the expired done claims of a shard that is full of them; return the shard.

        Its batches in the bucket are read for that. To wait until there are none would be to wait
        for ever, because without room they stay there.
        """
        self._cleaned.add(shard.id)
        if shard.list_expired(self._redrive.now()):
            numbers = self._failure_bucket.list_numbers(shard.id)
            retry(partial(self._cleaning.expire_claims, shard.id, numbers), self._patience)
            shard = self._read_shard(shard.id)
        if shard.is_full_of_done:
            self._full[shard.id] = FullOfDoneError()
        else:
            self._full.pop(shard.id, None)
        return shard

    def _list_recounts(self) -> Iterator[Recount]:
        for page in self._store.query_pages(Query(LIST, consistent=True)):
            yield from map(Recount.from_item, page.items)

    def _read_shard(self, shard: str) -> ShardClaims:
        key = claims.build_shard_key(shard)
        image = retry(lambda: self._store.get(key, consistent=True), self._patience)
        return ShardClaims.from_item(shard, image)

    def _count_one(self) -> None:
        """Before each record: end the call if no room or time is left for it."""
        if self._records_left == 0 or not self._patience.has_time_left:
            raise EndOfCallError
        self._records_left -= 1
