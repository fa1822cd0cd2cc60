"""Dismisses records that no code can compute: their bad images count as empty (rule 56).

The bad base items get a mark that makes them empty for every code. Then a heartbeat has to pass
every shard, so that the record after each bad image is handled. Then the claims of each item are
taken in runs: in a run each new image is bad and is the next old image, so they cancel.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from daicho.derive.contributions import Amount
from daicho.errors import RefusedError, TransactionFailedError
from daicho.layout.dismissals import DISMISSED_MARK, compute_digest
from daicho.layout.item_keys import render_derived_partition
from daicho.layout.restorations import RESTORED_MARK, build_restoration_key
from daicho.plan import Ledger, NewerGenerationError
from daicho.redrive.applier import SECONDS_PER_RECORD, Applier
from daicho.redrive.claim_ids import render_claim
from daicho.redrive.cleanup import ClaimCleanup
from daicho.redrive.code_lock import CodeLock
from daicho.redrive.older_claims import OlderClaims, is_quarantined
from daicho.redrive.payloads import MissingPayloadError, UnreadablePayloadError, read_payload
from daicho.redrive.report import RedrivePosition, RedriveReport, RedriveRequest
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.retry import retry
from daicho.storage import keys
from daicho.storage.attributes import Image, to_value
from daicho.storage.item_key import ItemKey, get_key
from daicho.storage.protocols import DescribesStream, try_update
from daicho.storage.requests import MAX_TRANSACTION_WRITES, Put, Query, Update, Write, to_key_image
from daicho.stream import claims
from daicho.stream.changes import PlannedImage, RecordChanges, compute_record, find_bad_images
from daicho.stream.claims import Claim
from daicho.stream.heartbeat_watcher import HeartbeatRun, HeartbeatWatcher
from daicho.stream.records import StreamRecord, get_entity
from daicho.stream.recount_list import list_entity_tallies
from daicho.stream.released_generations import learn_released
from daicho.tally import slots

MAX_ROUNDS = 5
"""Rounds of one call: an item that is changed all the time is left to the next one."""
CLOCK_TOLERANCE = dt.timedelta(seconds=5)
SetAside = tuple[StreamRecord, Claim]


@dataclass(frozen=True)
class Run:
    """Claims of one item, oldest first. ``bad``: which of its two ends are bad: "old", "new"."""

    records: tuple[StreamRecord, ...]
    claims: tuple[Claim, ...]
    bad: frozenset[str]

    @classmethod
    def take(cls, waiting: Sequence[SetAside], bad: Sequence[frozenset[str]]) -> Run:
        """The run of the oldest claim. ``bad``: the bad images of each record."""
        count = 1
        while count < len(waiting) and "new" in bad[count - 1]:
            if not _are_one_image(waiting[count - 1][0].new, waiting[count][0].old):
                break
            count += 1
        records, run_claims = zip(*waiting[:count], strict=True)
        return cls(records, run_claims, (bad[0] & {"old"}) | (bad[count - 1] & {"new"}))

    @property
    def is_uncertain(self) -> bool:
        """Whether nobody knows what of it was counted, or was taken back from kept parts."""
        return (
            bool(self.bad)
            or any(claim.state != "open" for claim in self.claims)
            or any(map(_is_restore, self.records[:-1]))
        )

    def compute(self, ledger: Ledger) -> tuple[RecordChanges, ...]:
        """What its computable ends change, each in the slots of its own shard (rule 15)."""
        first, last = self.records[0], self.records[-1]
        if first is last:
            return (compute_record(first, ledger, self.bad),)
        return (
            compute_record(first, ledger, self.bad | {"new"}),
            compute_record(last, ledger, self.bad | {"old"}),
        )


@dataclass(frozen=True)
class Dismissal:
    """One call of a dismissal, or of its preview. ``open_stream``: opens its description."""

    reader: OlderClaims
    ledger: Ledger
    applier: Applier
    lock: CodeLock
    open_stream: Callable[[], DescribesStream]
    dirty_shards: int
    request: RedriveRequest
    report: RedriveReport

    def run(self) -> RedrivePosition | None:
        """Dismiss what the request chooses; returns where the next call continues, if it has to.

        Raises:
            UnavailableError: a store does not answer.
        """
        items, start = self._find_items(), self.request.begin.place
        if self.request.begin.phase != "dismiss":
            self.report.refused = self._find_refusal(items)
            if self.report.refused or self.request.action == "preview":
                return None
        self.report.wait, number = self.lock.find_wait("dismiss")
        for turn in range(MAX_ROUNDS):
            if self.report.wait:
                return RedrivePosition("dismiss", start)
            began = keys.render_instant(self.lock.now())
            marked = [self._mark(key) for key in items]
            if any(marked) or not start:
                start = f"{began}/{number}/{turn}"
            if not self._watch(start):
                return RedrivePosition("dismiss", start, began)
            items, since = self._find_items(), dt.datetime.fromisoformat(start.partition("/")[0])
            changed = [self._dismiss_item(waiting, since) for waiting in items.values()]
            if not any(changed):
                break
            start = ""
        return RedrivePosition("dismiss", start) if self.report.wait else None

    # --- What is dismissed -------------------------------------------------------------------

    def _find_items(self) -> dict[ItemKey, list[SetAside]]:
        """The claims of the chosen items, oldest first, with their records."""
        items: defaultdict[ItemKey, list[SetAside]] = defaultdict(list)
        for record, claim in sorted(self._read_claims(), key=lambda each: each[0].seq):
            items[record.key].append((record, claim))
        chosen, entity = self.request.chosen, self.request.entity
        return {
            key: waiting
            for key, waiting in items.items()
            if (chosen is None or any((r.shard, r.seq) in chosen for r, _ in waiting))
            and (not entity or any(claim.entity == entity for _, claim in waiting))
        }

    def _read_claims(self) -> Iterator[SetAside]:
        """All quarantined records; of discarded batches, those that a redrive has claimed."""
        discarded: dict[tuple[str, str], Claim] = {}
        for shard in self.reader.list_shards():
            for claim in self.reader.read_shard(shard).open_claims:
                if not is_quarantined(claim):
                    discarded[shard, claim.seq] = claim
                    continue
                objects, emulated = self.reader.objects, self.reader.emulated
                read = partial(read_payload, objects, shard, claim.seq, emulated=emulated)
                try:
                    yield retry(read, self.reader.retry_budget).record, claim
                except (MissingPayloadError, UnreadablePayloadError) as error:
                    self.report.add_claim(shard, claim, None, error)
        for group in self.reader.bucket.list_groups(RedrivePosition("discarded")):
            for failed in self.reader.bucket.read_batches(group).values() if discarded else ():
                for record in failed.batch.records:
                    if (record.shard, record.seq) in discarded:
                        yield record, discarded.pop((record.shard, record.seq))

    def _find_refusal(self, items: dict[ItemKey, list[SetAside]]) -> str:
        """Why nothing is dismissed; "" if something is, which the report then describes."""
        entity, chosen = self.request.entity, self.request.chosen or frozenset()
        if entity and entity not in self.ledger.entities:
            return f"no entity is called {entity}"
        found = {(r.shard, r.seq) for waiting in items.values() for r, _ in waiting}
        if absent := sorted(map(render_claim, chosen - found)):
            return f"not set aside, or done already: {', '.join(absent)}"
        for key, waiting in items.items():
            ledger, base = self._learn(key, waiting)
            try:
                bad = [find_bad_images(record, ledger, SECONDS_PER_RECORD) for record, _ in waiting]
                is_bad = self._is_bad(base, ledger)
            except NewerGenerationError:
                continue  # it waits for the code that is being deployed
            for (record, _), found_bad in zip(waiting, bad, strict=True):
                if (record.shard, record.seq) in chosen and not found_bad and not is_bad:
                    name = render_claim((record.shard, record.seq))
                    return f"{name} can be computed: redrive it instead"
            if any(bad):
                self._describe(waiting, bad, is_bad=is_bad)
        return "" if self.report.dismissals else "no record is set aside that cannot be computed"

    def _describe(
        self, waiting: Sequence[SetAside], bad: Sequence[frozenset[str]], *, is_bad: bool
    ) -> None:
        run, key = Run.take(waiting, bad), waiting[0][0].key
        is_unknown = run.is_uncertain and (run.bad != {"new"} or not is_bad)
        entities = sorted(_list_entities([record for record, _ in waiting]))
        self.report.dismissals.append(
            {
                "item": [key.pk, key.sk],
                "claims": [render_claim((record.shard, record.seq)) for record, _ in waiting],
                "becomes_empty": is_bad,
                "recount": entities if is_unknown else [],
            }
        )

    # --- Marks and heartbeats ----------------------------------------------------------------

    def _learn(self, key: ItemKey, waiting: Sequence[SetAside] = ()) -> tuple[Ledger, Image | None]:
        """The base item, and the ledger with what was released of what it does not know."""
        base = retry(partial(self.reader.store.get, key, consistent=True), self.reader.retry_budget)
        images = [base, *(image for record, _ in waiting for image in (record.old, record.new))]
        learn = partial(learn_released, self.reader.store, self.ledger, images)
        return retry(learn, self.reader.retry_budget), base

    def _is_bad(self, base: Image | None, ledger: Ledger) -> bool:
        record = StreamRecord("", "", "", ItemKey("", ""), None, base, False, self.lock.now())
        return bool(find_bad_images(record, ledger, SECONDS_PER_RECORD))

    def _mark(self, key: ItemKey) -> bool:
        """Mark a base item that is bad, if it exists; whether it may be marked now."""
        ledger, base = self._learn(key)
        try:
            if base is None or not self._is_bad(base, ledger):
                return False
        except NewerGenerationError:
            return False
        update = Update(
            key,
            "SET #mark = :mark",
            "attribute_exists(PK)",
            {"#mark": DISMISSED_MARK},
            {":mark": {"S": compute_digest(base)}},
        )
        try:
            return retry(partial(try_update, self.reader.store, update), self.reader.retry_budget)
        except RefusedError:  # the item has no room for the mark
            self.report.refused = f"{key} is too large for the mark: put or delete it"
            return False

    def _watch(self, start: str) -> bool:
        """Whether a heartbeat that was sent after ``start`` has passed every shard."""
        run = HeartbeatRun(f"dismiss-{start}", self.ledger.derived_types[:1])
        watcher = HeartbeatWatcher(self.reader.store, self.open_stream(), now=self.lock.now)
        has_passed = watcher.watch(run, self.reader.retry_budget).has_passed
        if has_passed:
            retry(partial(watcher.forget, run), self.reader.retry_budget)
        return has_passed

    # --- Runs --------------------------------------------------------------------------------

    def _dismiss_item(self, waiting: Sequence[SetAside], since: dt.datetime) -> bool:
        """Apply or dismiss the claims of an item; whether another round is needed.

        ``since``: what was written before is handled.
        """
        while waiting:
            record, claim = waiting[0]
            ledger, base = self._learn(record.key, waiting)
            try:
                bad = [find_bad_images(each, ledger, SECONDS_PER_RECORD) for each, _ in waiting]
                if self._is_bad(base, ledger):
                    return True
            except NewerGenerationError as error:
                self.report.add_claim(record.shard, claim, record, error)
                return False
            if not bad[0]:
                if is_quarantined(claim) and not self._apply(record, claim):
                    return False
                waiting = waiting[1:]
                continue
            run = Run.take(waiting, bad)
            if "new" in run.bad and run.claims[-1].at > since - CLOCK_TOLERANCE:
                return True
            ends = (c.at + self.lock.settle for c in run.claims if c.state == "uncertain")
            left = (max(ends, default=since) - self.lock.now()).total_seconds()
            if left > 0:
                self.report.wait = max(self.report.wait, left)
                return False
            if not self._finish(run, base, ledger):
                return True
            waiting = waiting[len(run.claims) :]
        return False

    def _apply(self, record: StreamRecord, claim: Claim) -> bool:
        result = self.applier.apply(record, claim, self.reader.retry_budget)
        if not result.is_done and result.error is not None:
            self.report.add_claim(record.shard, claim, record, result.error)
        self.report.applied += result.is_done
        return result.is_done

    def _finish(self, run: Run, base: Image | None, ledger: Ledger) -> bool:
        """Write the rows of the base item, and finish a run; whether the claims were as read."""
        rows, changes = PlannedImage.parse(base, ledger).rows, run.compute(ledger)
        last = run.records[-1]
        derived = {key for each in changes for key in (*each.before, *each.after)}
        every = {*rows, *derived, *self._list_stored_rows(run)}
        self.applier.write_rows(every, rows, last.seq, self.reader.retry_budget)
        row_put, row_exists = self._record_row(last, ledger)
        writes: list[Write] = [*self._count(changes), *row_put]
        finishing, is_whole = self._finish_claims(run, MAX_TRANSACTION_WRITES - len(writes))
        recount: list[str] = []
        if run.is_uncertain or row_exists or not is_whole:
            tenant = keys.parse_first(last.key.pk)
            for entity in sorted(_list_entities(run.records)):
                recount += list_entity_tallies(tenant, entity, ledger)
        commits = [[each] for each in finishing] if not is_whole else [[*finishing, *writes]]
        try:
            for each in commits:
                self.applier.commit(each, recount, last.seq)
        except TransactionFailedError:
            return False
        self.report.dismissed += len(run.claims)
        cleanup = ClaimCleanup(self.reader.store, self.reader.objects, now=self.lock.now)
        for record, claim in zip(run.records, run.claims, strict=True):
            if is_quarantined(claim):
                name = claims.render_payload_name(record.shard, record.seq)
                cleanup.archive_payloads(name)
        return True

    def _list_stored_rows(self, run: Run) -> Iterator[ItemKey]:
        """The keys of all derived items of a run's item, whichever code has written them."""
        for entity in _list_entities(run.records):
            try:
                partition = render_derived_partition(run.records[0].key, entity)
                query = Query(keys.check_partition(partition), consistent=True)
            except (ValueError, keys.KeyTooLongError):
                continue  # no code derives anything of such a key
            for page in self.reader.store.query_pages(query):
                yield from map(get_key, page.items)

    def _count(self, changes: Sequence[RecordChanges]) -> list[Update]:
        deltas: dict[ItemKey, Amount] = {}
        for each in changes:
            for key, amount in each.deltas.items():
                deltas[key] = deltas.get(key, Amount()) + amount
        count = partial(
            slots.add_redriven_delta, dirty_shards=self.dirty_shards, now=self.lock.now()
        )
        return [count(key, amount) for key, amount in sorted(deltas.items()) if amount]

    def _record_row(self, last: StreamRecord, ledger: Ledger) -> tuple[list[Put], bool]:
        """The record of the archived row of a bad item, so that no restore takes anything back.

        Also whether the row was restored before: then something was taken back.
        """
        entity = get_entity(last.old)
        if not last.expired or entity not in ledger.archived_types:
            return [], False
        key = build_restoration_key(keys.parse_first(last.key.pk), entity, last.seq)
        if self.reader.store.get(key, consistent=True) is not None:
            return [], True
        at = {"S": keys.render_instant(self.lock.now())}
        image = {**to_key_image(key), "at": at, "gen": to_value(0)}
        return [Put(image, "attribute_not_exists(PK)")], False

    def _finish_claims(self, run: Run, room: int) -> tuple[list[Write], bool]:
        """The updates that finish the claims of a run, and whether one transaction can hold them.

        ``room``: the writes that it may have more.
        """
        by_shard: defaultdict[str, list[Claim]] = defaultdict(list)
        for record, claim in zip(run.records, run.claims, strict=True):
            by_shard[record.shard].append(claim)
        finishing: list[Write] = [
            claims.finish_update(shard, found[at], self.lock.now(), *found[at + 1 : at + size])
            for size in (claims.MAX_FINISHED,)
            for shard, found in sorted(by_shard.items())
            for at in range(0, len(found), size)
        ]
        return finishing, len(by_shard) == len(finishing) <= room


def _list_entities(records: Sequence[StreamRecord]) -> set[str]:
    images = (image for record in records for image in (record.old, record.new))
    return {entity for image in images if (entity := get_entity(image)) is not None}


def _are_one_image(new: Image | None, old: Image | None) -> bool:
    if new is None or old is None or new.get(DISMISSED_MARK) != old.get(DISMISSED_MARK):
        return False
    return compute_digest(new) == compute_digest(old)


def _is_restore(record: StreamRecord) -> bool:
    mark = (record.new or {}).get(RESTORED_MARK)
    return mark is not None and mark != (record.old or {}).get(RESTORED_MARK)
