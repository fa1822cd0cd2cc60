"""Dismisses records that no code can compute: their bad images count as empty (rule 56).

The bad base items get a mark that makes them empty for every code. Then a heartbeat has to pass
every shard, so that the record after each bad image is handled. Then the claims of each item are
finished in *runs*: in a run each new image is bad and is the next old image, so they cancel.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from daicho.errors import RefusedError, TransactionFailedError
from daicho.layout import marks
from daicho.layout.marks import DISMISSED_MARK, compute_digest
from daicho.plan import Ledger, NewerGenerationError
from daicho.redrive.applier import SECONDS_PER_RECORD, Applier
from daicho.redrive.claim_ids import ClaimId, render_claim
from daicho.redrive.code_lock import CodeLock
from daicho.redrive.older_claims import OlderClaims, is_quarantined
from daicho.redrive.payloads import PayloadError
from daicho.redrive.report import RedrivePosition, RedriveReport, RedriveRequest
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.retry import retry
from daicho.storage import keys
from daicho.storage.attributes import Image, ItemKey, get_key
from daicho.storage.protocols import DescribesStream, try_update
from daicho.storage.requests import MAX_TRANSACTION_WRITES, Put, Update, Write
from daicho.stream import claims
from daicho.stream.changes import PlannedImage, compute_record, is_bad, merge_changes
from daicho.stream.claims import Claim
from daicho.stream.heartbeat_watcher import HeartbeatProgress, HeartbeatRun, HeartbeatWatcher
from daicho.stream.records import StreamRecord, get_entity
from daicho.stream.recount_list import list_entity_tallies
from daicho.stream.released_generations import learn_released
from daicho.stream.stored_rows import list_stored_rows

MAX_ROUNDS = 5
"""Rounds of one call: an item that is changed all the time is left to the next one."""
NOTHING = "there is nothing to dismiss: what is chosen can be computed, or is not set aside"
CLOCK_TOLERANCE = dt.timedelta(seconds=5)


class SetAside(NamedTuple):
    """A claim with its record. ``bad``: which images of the record are bad: "old", "new"."""

    record: StreamRecord
    claim: Claim
    bad: frozenset[str] = frozenset()

    @property
    def id(self) -> ClaimId:
        """The id of the claim."""
        return self.record.shard, self.record.seq


@dataclass(frozen=True)
class ItemClaims:
    """The claims of an item, or a run of them, oldest first, and the base item as it was read.

    ``ledger``: with what was released of the generations that the code does not know. ``is_bad``:
    whether the base item is.
    """

    key: ItemKey
    base: Image | None
    ledger: Ledger
    is_bad: bool
    claims: Sequence[SetAside]

    def take_run(self, first: int = 0) -> ItemClaims:
        """The run that begins with one of the claims."""
        end = first + 1
        while end < len(self.claims) and "new" in self.claims[end - 1].bad:
            if not _are_one_image(self.claims[end - 1].record.new, self.claims[end].record.old):
                break
            end += 1
        return replace(self, claims=self.claims[first:end])

    @property
    def bad_ends(self) -> frozenset[str]:
        """Which ends of the run are bad: its first old image, its last new image."""
        return (self.claims[0].bad & {"old"}) | (self.claims[-1].bad & {"new"})

    @property
    def is_uncertain(self) -> bool:
        """Whether nobody knows what of the run was counted, or was taken back from kept parts."""
        return (
            bool(self.bad_ends)
            or any(each.claim.state != "open" for each in self.claims)
            or any(_is_restore(each.record) for each in self.claims[:-1])
        )

    @property
    def entities(self) -> list[str]:
        """The entities of the images."""
        images = (image for each in self.claims for image in (each.record.old, each.record.new))
        return sorted({name for image in images if (name := get_entity(image)) is not None})

    def describe(self, now: dt.datetime) -> dict[str, Any]:
        """What a dismissal would do with the item, as plain JSON values."""
        item, first, is_unknown = self, 0, False
        if self.is_bad:  # its mark makes another record: an empty image follows the bad one
            record = StreamRecord("~", "", "", self.key, self.base, None, False, now)
            mark = SetAside(record, Claim.for_record(record, "open", now), frozenset({"old"}))
            item = replace(self, claims=(*self.claims, mark))
        while first < len(item.claims):
            run = item.take_run(first)
            is_unknown = is_unknown or (bool(run.claims[0].bad) and run.is_uncertain)
            first += len(run.claims)
        return {
            "item": [self.key.pk, self.key.sk],
            "claims": [render_claim(each.id) for each in self.claims],
            "becomes_empty": self.is_bad,
            "recount": item.entities if is_unknown else [],
        }


@dataclass(frozen=True)
class DismissedItems:
    """The items that a request chooses. It only reads.

    ``reads_items``: if not, a base item is taken to be as its newest record has left it. Operators
    may not read items of tenants.
    """

    reader: OlderClaims
    ledger: Ledger
    request: RedriveRequest
    report: RedriveReport
    reads_items: bool = True

    def find(self, shards: Collection[str] = ()) -> Mapping[ItemKey, Sequence[SetAside]]:
        """The claims of the chosen items, oldest first, with their records.

        ``shards``: that are read besides those of the index, which may lag.

        Raises:
            UnavailableError: a store does not answer.
        """
        items: defaultdict[ItemKey, list[SetAside]] = defaultdict(list)
        for each in sorted(self._read_claims(shards), key=lambda each: each.record.seq):
            items[each.record.key].append(each)
        chosen, entity = self.request.chosen, self.request.entity
        if self.request.item is not None:
            return {self.request.item: items[self.request.item]}
        return {
            key: waiting
            for key, waiting in items.items()
            if (chosen is None or any(each.id in chosen for each in waiting))
            and (not entity or any(each.claim.entity == entity for each in waiting))
        }

    def read(self, key: ItemKey, waiting: Sequence[SetAside] = ()) -> ItemClaims:
        """Read an item, and compute which of its images are bad.

        Raises:
            NewerGenerationError: an image waits for the code that is being deployed.
            UnavailableError: the table does not answer.
        """
        store, budget = self.reader.store, self.reader.retry_budget
        base = waiting[-1].record.new if waiting else None
        if self.reads_items:
            base = retry(partial(store.get, key, consistent=True), budget)
        images = [image for each in waiting for image in (each.record.old, each.record.new)]
        ledger = retry(partial(learn_released, store, self.ledger, [base, *images]), budget)

        def find_bad(record: StreamRecord) -> frozenset[str]:
            named = {"old": record.old, "new": record.new}
            return frozenset(n for n in named if is_bad(named[n], ledger, SECONDS_PER_RECORD))

        read = [each._replace(bad=find_bad(each.record)) for each in waiting]
        return ItemClaims(key, base, ledger, is_bad(base, ledger, SECONDS_PER_RECORD), read)

    def preview(self, items: Mapping[ItemKey, Sequence[SetAside]], now: dt.datetime) -> str:
        """Describe the items in the report; returns why nothing can be dismissed, or ""."""
        entity, chosen = self.request.entity, self.request.chosen or frozenset()
        if entity and entity not in self.ledger.entities:
            return f"no entity is called {entity}"
        found = {each.id for waiting in items.values() for each in waiting}
        if absent := sorted(map(render_claim, chosen - found)):
            return f"not set aside, or done already: {', '.join(absent)}"
        for key, waiting in items.items():
            try:
                item = self.read(key, waiting)
            except NewerGenerationError:
                continue  # it waits for the code that is being deployed
            for each in item.claims:
                if each.id in chosen and not each.bad and not item.is_bad:
                    return f"{render_claim(each.id)} can be computed: redrive it instead"
            if item.is_bad or any(each.bad for each in item.claims):
                self.report.dismissals.append(item.describe(now))
        return "" if self.report.dismissals else NOTHING

    def _read_claims(self, shards: Collection[str]) -> Iterator[SetAside]:
        """All quarantined records; of discarded batches, those that a redrive has claimed."""
        reader = self.reader
        waiting = {
            (shard, claim.seq): claim
            for shard in sorted({*reader.list_shards(), *shards})
            for claim in reader.read_shard(shard).open_claims
        }
        ids = [id for id, claim in waiting.items() if is_quarantined(claim)]
        for id, record in zip(ids, reader.map_all(reader.find_record, ids), strict=True):
            claim = waiting.pop(id)
            if isinstance(record, PayloadError):
                self.report.add_claim(id[0], claim, None, record)
            else:
                yield SetAside(record, claim)
        for record in reader.bucket.list_records({shard for shard, _ in waiting}):
            if (record.shard, record.seq) in waiting:
                yield SetAside(record, waiting.pop((record.shard, record.seq)))


@dataclass(frozen=True)
class Dismissal:
    """One call of a dismissal, or of its preview.

    ``apply`` applies a record that can be computed, under its claim; True if it is done.
    ``archive_payload`` puts the payload of a done claim away. ``open_stream`` opens the description
    of the stream.
    """

    items: DismissedItems
    applier: Applier
    lock: CodeLock
    open_stream: Callable[[], DescribesStream]
    apply: Callable[[StreamRecord, Claim], bool]
    archive_payload: Callable[[StreamRecord], None]

    def run(self) -> RedrivePosition | None:
        """Dismiss what the request chooses; returns where the next call continues, if it has to.

        Raises:
            UnavailableError: a store does not answer.
        """
        request, report, chosen = self.items.request, self.items.report, self.items.find()
        start = request.begin.place
        if request.begin.phase != "dismiss":
            report.refused = self.items.preview(chosen, self.lock.now())
            if report.refused or request.action == "preview":
                return None
        report.wait, number = self.lock.find_wait("dismiss")
        for turn in range(MAX_ROUNDS):
            if report.wait:
                return RedrivePosition("dismiss", start)
            began = keys.render_instant(self.lock.now())
            marked = [self._mark(key) for key in chosen]
            if any(marked) or not start:
                start = f"{began}/{number}/{turn}"
            progress = self._watch(start)
            if not progress.has_passed:
                return RedrivePosition("dismiss", start, began)
            chosen = self.items.find(progress.items)
            since = dt.datetime.fromisoformat(start.partition("/")[0])
            changed = [self._dismiss_item(*each, since) for each in chosen.items()]
            if not any(changed):
                break
            start = ""
        return RedrivePosition("dismiss", start) if report.wait else None

    def _mark(self, key: ItemKey) -> bool:
        """Mark a base item that is bad, if it exists; whether it is marked now."""
        try:
            item = self.items.read(key)
        except NewerGenerationError:
            return False
        if item.base is None or not item.is_bad:
            return False
        mark = {":mark": {"S": compute_digest(item.base)}}
        names = {"#mark": DISMISSED_MARK}
        update = Update(key, "SET #mark = :mark", "attribute_exists(PK)", names, mark)
        reader = self.items.reader
        try:
            return retry(partial(try_update, reader.store, update), reader.retry_budget)
        except RefusedError:  # the item has no room for the mark
            self.items.report.refused = f"{key} is too large for the mark: put or delete it"
            return False

    def _watch(self, start: str) -> HeartbeatProgress:
        """Wait until a heartbeat that was sent after ``start`` has passed every shard."""
        reader = self.items.reader
        run = HeartbeatRun(f"dismiss-{start}", self.items.ledger.derived_types[:1])
        watcher = HeartbeatWatcher(reader.store, self.open_stream(), now=self.lock.now)
        progress = watcher.watch(run, reader.retry_budget)
        if progress.has_passed:
            retry(partial(watcher.forget, run), reader.retry_budget)
        return progress

    def _dismiss_item(self, key: ItemKey, waiting: Sequence[SetAside], since: dt.datetime) -> bool:
        """Apply or dismiss the claims of an item; whether another round is needed.

        ``since``: what was written before is handled.
        """
        report = self.items.report
        while waiting:
            record, claim, _ = waiting[0]
            try:
                item = self.items.read(key, waiting)
            except NewerGenerationError as error:
                report.add_claim(record.shard, claim, record, error)
                return False
            if item.is_bad:
                return True
            run = item.take_run()
            if not run.claims[0].bad:
                if is_quarantined(claim) and not self.apply(record, claim):
                    return False
            elif "new" in run.bad_ends and run.claims[-1].claim.at > since - CLOCK_TOLERANCE:
                return True
            elif self._must_wait(run):
                return False
            elif not self._finish(run):
                return True
            waiting = waiting[len(run.claims) :]
        return False

    def _must_wait(self, run: ItemClaims) -> bool:
        """Whether somebody who announced an uncertain record may still write its rows."""
        at = [each.claim.at for each in run.claims if each.claim.state == "uncertain"]
        left = (max(at) + self.lock.settle - self.lock.now()).total_seconds() if at else 0.0
        self.items.report.wait = max(self.items.report.wait, left)
        return left > 0

    def _finish(self, run: ItemClaims) -> bool:
        """Write the rows of the base item, and finish a run; whether the claims were as read."""
        last, ledger, bad = run.claims[-1].record, run.ledger, run.bad_ends
        # Its computable ends, each in the slots of its own shard (rule 15).
        changes = merge_changes(
            compute_record(run.claims[0].record, ledger, bad | {"new"}),
            compute_record(last, ledger, bad | {"old"}),
        )
        rows = PlannedImage.parse(run.base, ledger).rows
        stored = list_stored_rows(self.items.reader.store, run.key, run.entities)
        every = {*rows, *changes.before, *changes.after, *map(get_key, stored)}
        self.applier.write_rows(every, rows, last.seq, self.items.reader.retry_budget)
        decision = self.applier.decide_slots("open", changes)
        row_put, row_exists = self._record_row(run)
        finishing, recount = self._finish_claims(run), set(decision.recount)
        done: list[Write] = [*row_put, *finishing]
        writes = [*done, *decision.counting]
        is_whole = len(finishing) == len({each.record.shard for each in run.claims})
        is_whole = is_whole and len(writes) <= MAX_TRANSACTION_WRITES
        if run.is_uncertain or row_exists or not is_whole:
            for entity in run.entities:
                recount.update(list_entity_tallies(keys.parse_first(run.key.pk), entity, ledger))
        try:
            for commit in [writes] if is_whole else [[each] for each in done]:
                self.applier.commit(commit, sorted(recount), last.seq)
        except TransactionFailedError:
            return False
        self.items.report.dismissed += len(run.claims)
        for each in run.claims:
            if is_quarantined(each.claim):
                self.archive_payload(each.record)
        return True

    def _record_row(self, run: ItemClaims) -> tuple[list[Put], bool]:
        """The record of the archived row of a bad item, so that no restore takes anything back.

        Also whether the row was restored before: then something was taken back.
        """
        last = run.claims[-1].record
        entity = get_entity(last.old)
        if not last.expired or entity not in run.ledger.archived_types:
            return [], False
        key = marks.build_restoration_key(keys.parse_first(run.key.pk), entity, last.seq)
        if self.items.reader.store.get(key, consistent=True) is not None:
            return [], True
        mark = marks.RestoredMark(last.seq, keys.render_instant(self.lock.now()), 0, None)
        return [marks.build_record_put(key, mark, 0, None)], False

    def _finish_claims(self, run: ItemClaims) -> list[Update]:
        """The updates that finish the claims of a run: as few as possible for each shard."""
        by_shard: defaultdict[str, list[Claim]] = defaultdict(list)
        for each in run.claims:
            by_shard[each.record.shard].append(each.claim)
        size, now = claims.MAX_FINISHED, self.lock.now()
        return [
            claims.finish_update(shard, found[at], now, *found[at + 1 : at + size])
            for shard, found in sorted(by_shard.items())
            for at in range(0, len(found), size)
        ]


def _are_one_image(new: Image | None, old: Image | None) -> bool:
    if new is None or old is None or new.get(DISMISSED_MARK) != old.get(DISMISSED_MARK):
        return False
    return compute_digest(new) == compute_digest(old)


def _is_restore(record: StreamRecord) -> bool:
    mark = (record.new or {}).get(marks.RESTORED_MARK)
    return mark is not None and mark != (record.old or {}).get(marks.RESTORED_MARK)
