"""The redrive: applies records that could not be processed, exactly once, after a fix.

In this order (docs/explanation/exactness-proof.md, rules 15, 16 and 22):

1. The records that the projector quarantined: each has an open *claim* in its shard's item, and its
   payload in the failure bucket. Shards and records are in ascending order.
2. The batches that Lambda *discarded*, in the same bucket: the projector's records are applied
   under claims, the archiver's batches are appended to its chains.

It may be called again while the projector or another redrive writes, and after a kill at any point:
the claim of a record shows whether the record is done. It may be limited to chosen records, to
which it adds older ones (`daicho.redrive.older_claims`).
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Mapping, Set
from dataclasses import replace
from functools import cached_property, partial

from daicho.errors import DaichoError, UnavailableError
from daicho.plan import Ledger
from daicho.redrive.applier import Applier, FullOfDoneError, Outcome
from daicho.redrive.code_lock import CodeLock, compute_code_name
from daicho.redrive.dismissal import Dismissal, DismissedItems
from daicho.redrive.failure_bucket import END, FailureBucket, FailureGroup, RecordRearchiver
from daicho.redrive.older_claims import ChosenRecords, OlderClaims
from daicho.redrive.payloads import MissingPayloadError, PayloadError
from daicho.redrive.report import RedrivePosition, RedriveReport, RedriveRequest
from daicho.runtime.clock import utc_now
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.retry import Mapper, RetryBudget, make_mapper, retry
from daicho.runtime.settings import Settings
from daicho.storage.bucket import Bucket
from daicho.storage.protocols import DescribesStream, try_update
from daicho.storage.table import Table
from daicho.stream import claims
from daicho.stream.claims import Claim, ShardClaims
from daicho.stream.failed_batch import render_done_name
from daicho.stream.records import Batch, StreamRecord
from daicho.stream.recount_list import describe_recounts
from daicho.stream.shard_items import ShardFullError, put_claim
from daicho.stream.shard_progress import EmulatedStream

MAX_EXPIRED = 100
"""Claims that one update removes."""
_log = logging.getLogger(__name__)


class EndOfCallError(Exception):
    """The limit of records or of time is reached; the next call continues after the position."""


@dataclass(frozen=True)
class Redrive:
    """The settings and the clients of all calls of a redrive.

    ``stream``: opens the description of the stream. ``settle``: longer than any call takes.
    ``code``: the name of this code, computed if it is empty. ``objects``: the failure bucket.
    ``projector``, ``archiver``: the functions whose discarded
    batches are applied; without an ``archive``, the archiver's stay. ``emulated``: `Batch.parse`.
    """

    store: Table
    objects: Bucket
    ledger: Ledger
    projector: str
    dirty_shards: int
    emulated: bool = False
    now: Callable[[], dt.datetime] = utc_now
    archiver: str = ""
    archive: RecordRearchiver | None = None
    map_all: Mapper = map
    stream: Callable[[], DescribesStream] = EmulatedStream
    settle: dt.timedelta = dt.timedelta(seconds=1_000)
    code: str = ""

    @classmethod
    def build(
        cls,
        settings: Settings,
        ledger: Ledger,
        store: Table,
        failures: Bucket,
        archive: RecordRearchiver,
        *,
        threads: int,
        now: Callable[[], dt.datetime],
        stream: Callable[[], DescribesStream],
    ) -> Redrive:
        """The redrive of a deployed stack."""
        return cls(
            store,
            failures,
            ledger,
            projector=settings.project_function,
            dirty_shards=settings.dirty_shards,
            emulated=settings.emulated_stream,
            now=now,
            archiver=settings.archive_function,
            archive=archive,
            map_all=make_mapper(threads),
            stream=EmulatedStream if settings.emulated_stream else stream,
            settle=dt.timedelta(seconds=settings.settle_seconds or 1_000),
        )

    @cached_property
    def lock(self) -> CodeLock:
        """The lock that names the code of redrives and dismissals."""
        code = self.code or compute_code_name()
        return CodeLock(self.store, code, self.settle, self.now)

    @cached_property
    def applier(self) -> Applier:
        """The applier of records."""
        return Applier(self.store, self.ledger, self.dirty_shards, self.now, self.map_all)

    def run(self, request: RedriveRequest, retry_budget: RetryBudget) -> RedriveReport:
        """List or apply records, up to the request's limit and while time is left.

        Raises:
            UnavailableError: not even the recount list can be read.
        """
        return _RedriveCall(self, request, retry_budget).run()


class _RedriveCall:
    """One call of a redrive, with its limits, its position and its report."""

    def __init__(
        self, redrive: Redrive, request: RedriveRequest, retry_budget: RetryBudget
    ) -> None:
        self._redrive, self._objects, self._store = redrive, redrive.objects, redrive.store
        self._applies, self._request = request.action == "apply", request
        self._retry_budget = retry_budget
        self._chosen: ChosenRecords | None = None
        self._records_left = request.limit
        self._begin = self._position = request.begin
        self._report = RedriveReport()
        functions = {redrive.projector, *([redrive.archiver] if redrive.archive else [])}
        self._failure_bucket = FailureBucket(
            self._objects, functions, redrive.emulated, retry_budget, self._report
        )
        self._reader = OlderClaims(
            *(self._store, self._objects, redrive.projector, redrive.emulated),
            map_all=redrive.map_all,
            retry_budget=retry_budget,
        )
        self._read_shard = self._reader.read_shard
        self._full_shards: dict[str, FullOfDoneError] = {}
        self._cleaned_shards: set[str] = set()

    def run(self) -> RedriveReport:
        """Process the records after the position of the request, until a limit is reached."""
        report = self._report
        try:
            if self._request.action in ("preview", "dismiss"):
                self._dismiss()
            else:
                self._redrive_all()
            report.finished = True
        except (EndOfCallError, UnavailableError) as error:
            _log.info("the call ends at %s: %r", self._position, error)
            report.cursor = self._position.cursor
        report.recount = describe_recounts(self._store)
        return report

    def _dismiss(self) -> None:
        self._position, redrive = replace(self._begin, phase="dismiss"), self._redrive
        items = DismissedItems(self._reader, redrive.ledger, self._request, self._report)
        actions = (self._apply, self._archive_payload)
        dismissal = Dismissal(items, redrive.applier, redrive.lock, redrive.stream, *actions)
        if (position := dismissal.run()) is not None:
            self._position = position
            raise EndOfCallError

    def _redrive_all(self) -> None:
        if self._applies:
            # Other code may still dismiss what this code computes (rule 56).
            self._report.wait, _ = self._redrive.lock.find_wait("apply")
            if self._report.wait:
                raise EndOfCallError
        if self._request.chosen is not None:
            self._chosen = self._reader.add_older(self._request.chosen)
        if self._begin.phase == "claims":
            self._apply_all_claims()
            self._position = RedrivePosition("discarded")
        self._apply_discarded()
        if self._applies:
            self._clean_up()

    # --- Claims ------------------------------------------------------------------------------

    def _apply_all_claims(self) -> None:
        """Apply the chosen claims, or the open claims of all shards."""
        if self._chosen is None:
            for shard in self._reader.list_shards(self._begin.place):
                self._apply_claims(shard)
            return
        for shard, seq, claim in self._chosen.list_claims(self._begin):
            self._count_record()
            if claim is None:
                self._report.already_done += 1
            else:
                self._apply_claim(shard, claim)
            self._position = RedrivePosition("claims", shard, seq)

    def _apply_claims(self, shard: str) -> None:
        """Apply the open claims of a shard, except those whose record is in a discarded batch."""
        after = self._begin.seq if shard == self._begin.place else ""
        untried = [claim for claim in self._read_shard(shard).open_claims if claim.seq > after]
        is_discarded = any(claim.state == "discarded" for claim in untried)
        has_batches = is_discarded and shard in self._failure_bucket.list_shards()
        for claim in untried:
            self._count_record()
            if claim.state != "discarded":
                self._apply_claim(shard, claim)
            elif not has_batches:  # otherwise its record is in a discarded batch, applied later
                self._report_missing(shard, claim, f"no batch of {shard}")
            self._position = RedrivePosition("claims", shard, claim.seq)

    def _apply_claim(self, shard: str, claim: Claim) -> None:
        try:
            payload = self._reader.read_record((shard, claim.seq))
        except MissingPayloadError as error:
            self._report_missing(shard, claim, str(error))
        except PayloadError as error:
            self._report.add_claim(shard, claim, None, error)
        else:
            if self._applies:
                self._apply(payload.record, claim)
            else:
                self._report.add_claim(shard, claim, payload.record, payload.error)

    def _report_missing(self, shard: str, claim: Claim, detail: str) -> None:
        """Report a claim without its record, unless another redrive has just done it."""
        stored_claim = self._read_shard(shard).claims.get(claim.seq)
        if stored_claim is None or stored_claim.state == "done":
            self._report.already_done += 1
        else:
            self._report.add_claim(shard, claim, None, MissingPayloadError(detail))

    def _apply(self, record: StreamRecord, claim: Claim) -> bool:
        """Apply a record under its claim; True if it is done."""
        # Logged first, so that a record that kills the process is in the last log line.
        extra = {"seq": record.seq, "shard": record.shard, "item": [record.key.pk, record.key.sk]}
        _log.info("record is applied", extra=extra)
        result = self._redrive.applier.apply(record, claim, self._retry_budget)
        if result.outcome is Outcome.LATER:
            raise EndOfCallError
        if result.is_done:
            self._report.applied += result.outcome is Outcome.APPLIED
            self._report.already_done += result.outcome is Outcome.ALREADY
            self._report.uncertain += bool(result.recount)
            if claim.state != "discarded":
                self._archive_payload(record)
        elif result.error is not None:
            self._report.add_claim(record.shard, claim, record, result.error)
        if isinstance(result.error, FullOfDoneError):
            self._full_shards[record.shard] = result.error
        return result.is_done

    def _archive_payload(self, record: StreamRecord) -> None:
        """Move the payload of a done claim to the applied ones; one left in place does no harm."""
        name = claims.render_payload_name(record.shard, record.seq)
        try:
            self._objects.move(name, render_done_name(name))
        except UnavailableError as error:
            _log.warning("payload left in place: %s", error)

    # --- Discarded batches -------------------------------------------------------------------

    def _apply_discarded(self) -> None:
        """Apply batches in the order in which they were discarded; those of a second by number."""
        begin = self._begin if self._begin.phase == "discarded" else RedrivePosition("discarded")
        for group in self._failure_bucket.list_groups(begin):
            if self._chosen and group.shard not in self._chosen.discarded_shards:
                continue
            if self._applies:
                # Claims are read before batches: no done claim is removed while a batch needs it.
                shard = self._read_shard(group.shard)
                if shard.is_full_of_done and shard.id not in self._cleaned_shards:
                    shard = self._expire_done_claims(shard)
                failed_batches = self._failure_bucket.read_batches(group)
                archive, archiver = self._redrive.archive, self._redrive.archiver
                projected = {name: each.batch for name, each in failed_batches.items()}
                archived = {
                    name: projected.pop(name)
                    for name, each in failed_batches.items()
                    if archive and each.function == archiver
                }
                if self._chosen is None and archive:
                    self._archive_batches(group, archive, archived)
                self._apply_batches(group, shard, projected)
            else:
                self._count_record()
                self._failure_bucket.read_batches(group)
            self._position = RedrivePosition("discarded", group.name, END)

    def _archive_batches(
        self, group: FailureGroup, archive: RecordRearchiver, batches: Mapping[str, Batch]
    ) -> None:
        """Archive whole batches in order. The archive skips rows that it has already."""
        last_numbers = {
            name: max((record.seq for record in batch.records), default=END)
            for name, batch in batches.items()
        }
        for name, last in sorted(last_numbers.items(), key=lambda entry: entry[1]):
            if last <= group.tried:
                continue
            self._count_record()
            try:
                counts = archive.rearchive(batches[name], self._retry_budget)
            except UnavailableError:
                raise
            except DaichoError as error:  # a link that cannot be read; other batches may succeed
                self._report.discarded[name]["error"] = str(error)
            else:
                self._report.applied += counts.added
                self._report.already_done += counts.already
                self._failure_bucket.archive_processed(name)
            self._position = RedrivePosition("discarded", group.name, last)

    def _apply_batches(
        self, group: FailureGroup, shard: ShardClaims, batches: Mapping[str, Batch]
    ) -> None:
        """Apply the records of the projector's batches; move batches of which all are done."""
        records_by_seq = {
            record.seq: record for batch in batches.values() for record in batch.records
        }
        chosen, undone = self._chosen.discarded if self._chosen else None, set[str]()
        for seq in sorted(records_by_seq):
            record = records_by_seq[seq]
            existing = shard.claims.get(seq)
            if record.entity is None or (existing is not None and existing.state == "done"):
                continue
            if seq <= group.tried or (chosen is not None and (group.shard, seq) not in chosen):
                undone.add(seq)
                continue
            self._count_record()
            if not self._apply_under_claim(record, existing):
                undone.add(seq)
            self._position = RedrivePosition("discarded", group.name, seq)
        for name, batch in batches.items():
            if undone.isdisjoint(record.seq for record in batch.records):
                self._failure_bucket.archive_processed(name)

    def _apply_under_claim(self, record: StreamRecord, claim: Claim | None) -> bool:
        """Apply a record under its claim, which is put first if it is None; True if it is done."""
        if claim is None:
            claim = Claim.for_record(record, "discarded", self._redrive.now())
            if full := self._full_shards.get(record.shard):
                # A claim that no call can finish would use the projector's room (rule 18).
                self._report.add_claim(record.shard, claim, record, full)
                return False
            put = partial(put_claim, self._store, record.shard, claim)
            try:
                if retry(put, self._retry_budget) is None:
                    stored_claim = self._read_shard(record.shard).claims.get(record.seq)
                    if stored_claim is None or stored_claim.state == "done":
                        self._report.already_done += 1
                        return True
                    claim = stored_claim  # a concurrent writer put it first: it decides
            except ShardFullError as error:
                self._report.add_claim(record.shard, claim, record, error)
                return False
        return self._apply(record, claim)

    # --- The end -----------------------------------------------------------------------------

    def _clean_up(self) -> None:
        """Remove the expired claims of done records, at the end of a complete redrive."""
        shards_with_batches = self._failure_bucket.list_shards()
        for shard in list(self._reader.list_shards()):
            batch_numbers = None if shard in shards_with_batches else frozenset[str]()
            self._expire_claims(shard, batch_numbers)

    def _expire_done_claims(self, shard: ShardClaims) -> ShardClaims:
        """Remove the expired done claims of a shard that is full of them; return the shard.

        A claim must stay while a batch in the bucket has its record, so the batches are read. The
        removal cannot wait until there are no batches: they need room for claims to be applied.
        """
        self._cleaned_shards.add(shard.id)
        if shard.list_expired(self._redrive.now()):
            self._expire_claims(shard.id, self._failure_bucket.list_numbers(shard.id))
            shard = self._read_shard(shard.id)
        if shard.is_full_of_done:
            self._full_shards[shard.id] = FullOfDoneError()
        else:
            self._full_shards.pop(shard.id, None)
        return shard

    def _expire_claims(self, shard: str, held: Set[str] | None) -> None:
        """Remove the claims of a shard that are done for 72 hours, and its mark if none is open.

        It keeps the claims of records that are in the on-failure bucket (``held``; None if they
        are not known): only such a claim shows that its record is done. All of this may be left
        undone, or done twice.
        """
        shard_claims, now = self._read_shard(shard), self._redrive.now()
        done = shard_claims.list_expired(now) if held is not None else ()
        old = [claim for claim in done if held is not None and claim.seq not in held]
        updates = [
            claims.expire_claims_update(shard, old[at : at + MAX_EXPIRED])
            for at in range(0, len(old), MAX_EXPIRED)
        ]
        if not shard_claims.open:
            updates.append(claims.unlist_shard_update(shard, now))
        for update in updates:
            retry(partial(try_update, self._store, update), self._retry_budget)

    def _count_record(self) -> None:
        """Before each record: end the call if its limit of records or of time is reached."""
        if self._records_left == 0 or not self._retry_budget.has_time_left:
            raise EndOfCallError
        self._records_left -= 1
