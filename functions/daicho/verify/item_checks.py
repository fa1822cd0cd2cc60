"""The phase that compares items with their rows, and with what belongs to them.

While the table is scanned, the rows of each item are compared with what its image derives. An item
that differs is a suspect, as its record may be on its way. Suspects are in objects of the failure
bucket until they are checked again, in the order of rule 35: the base item, heartbeats through
every shard, the rows, the base item once more. An item that changes at each of five checks gets no
verdict: a repair touches it all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial

from daicho.layout.item_keys import parse_derived_partition
from daicho.layout.marks import build_repair_touch
from daicho.rebuild.repair_touch import (
    has_runaway_number,
    lower_runaway_number,
    remove_rows_without_item,
)
from daicho.rebuild.touches import estimate_units
from daicho.release.states import read_stage_states
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.rate_limit import RateLimiter
from daicho.runtime.retry import retry
from daicho.storage.attributes import Image, ItemKey, get_key
from daicho.storage.protocols import try_update
from daicho.storage.requests import ItemPage, Update
from daicho.stream.heartbeat_watcher import HeartbeatRun, HeartbeatWatcher
from daicho.verify.faults import Fault, parse_owner
from daicho.verify.findings import Kind
from daicho.verify.item_rows import (
    SET_ASIDE,
    ItemRows,
    StreamState,
    is_derived_partition,
    is_same,
    may_be_new,
)
from daicho.verify.steps import VerifyStep
from daicho.verify.suspects import SuspectPhase

MAX_CHECKS = 5
"""Checks of an item that changes at each of them."""
OF_BASE_ITEMS = frozenset({Kind.WRONG_KEY, Kind.WRONG_EDGE, Kind.WRONG_ATTRIBUTES, Kind.UNREADABLE})
"""Kinds of which a repair touch corrects nothing."""
UNTOUCHABLE = frozenset({Kind.WRONG_ATTRIBUTES, Kind.UNREADABLE})
"""Kinds of items of which the projector would derive no rows."""


@dataclass(frozen=True)
class PageSuspects:
    """What a page has of items and rows, and the base items that differ from their rows."""

    items: int = 0
    rows: int = 0
    suspects: Sequence[ItemKey] = ()


@dataclass(frozen=True)
class Reading:
    """A suspect as it was read twice, with its rows read in between.

    ``earlier``: its rows at the check before.
    """

    key: ItemKey
    before: Image | None
    rows: Sequence[Image]
    after: Image | None
    earlier: Sequence[Image] = ()


class ItemChecks(SuspectPhase):
    """Finds suspects while the table is scanned, and checks them again."""

    name = "items"

    def __init__(self, step: VerifyStep) -> None:
        super().__init__(step)
        self._limiter = RateLimiter(step.job.rate)
        self._stream: StreamState | None = None

    @cached_property
    def _rows(self) -> ItemRows:
        return ItemRows(self.on, read_stage_states(self.on.store).states)

    # --- While the table is scanned -----------------------------------------------------------

    def read_page(self, page: ItemPage) -> PageSuspects:
        """Compare each item of a page with its rows, and look for the items of its rows."""
        items, rows = self._select(page.items)
        find_faults = self._rows.find_faults
        derived = self._rows.derive(items)
        stored = self._rows.read_derived(derived)
        others = self.on.store.batch_get(rows.keys() - items.keys()).require_all()
        owners, derived = {**items, **others}, {**derived, **self._rows.derive(others)}

        def find_suspects(stream: StreamState) -> list[ItemKey]:
            return [
                *(
                    key
                    for key, image in items.items()
                    if find_faults(key, image, stored.get(key, ()), stream, derived.get(key))
                ),
                *(
                    key
                    for key, some in rows.items()
                    if find_faults(
                        key, owners.get(key), some, stream, derived.get(key), is_whole=False
                    )
                ),
            ]

        suspects = find_suspects(self._stream or self._read_stream())
        if suspects:  # some rows may only be newer than what is known of the stream
            suspects = find_suspects(self._read_stream())
        live = sum("GSI2PK" in row for some in rows.values() for row in some)
        return PageSuspects(len(items), live, suspects)

    def _read_stream(self) -> StreamState:
        """Read the state of the stream: not for each page, as its description has a rate limit."""
        self._stream = StreamState.read(self.on)
        return self._stream

    def collect(self, result: PageSuspects) -> None:
        """Count what a page has, and keep its suspects."""
        self.job.add_counts(items=result.items, rows=result.rows)
        super().collect(result.suspects)

    def _is_chosen(self, owner: str) -> bool:
        """Whether the job is about an entity. ``owner``: it, maybe behind a sign."""
        entity = owner.lstrip("~")
        return entity in self.on.ledger.entities and self.job.entity in ("", entity)

    def _select(
        self, images: Iterable[Image]
    ) -> tuple[Mapping[ItemKey, Image], Mapping[ItemKey, Sequence[Image]]]:
        """The base items of a page, and its rows by the keys of their base items.

        Tombstones are rows too. Items that the job is not about are left out.
        """
        items: dict[ItemKey, Image] = {}
        rows: dict[str, list[Image]] = {}
        ledger = self.on.ledger
        for image in images:
            key = get_key(image)
            _, owner = parse_owner(key)
            if not self._is_chosen(owner):
                continue
            if owner in ledger.entities:
                items[key] = image
            else:
                rows.setdefault(key.pk, []).append(image)
        return items, {
            parse_derived_partition(pk): some
            for pk, some in rows.items()
            if is_derived_partition(pk, ledger)
        }

    # --- Suspects -----------------------------------------------------------------------------

    def check(self, suspects: Sequence[ItemKey]) -> bool:
        """Check suspects; False if time was over: nothing of it is known then."""
        waiting, rows = suspects, dict[ItemKey, list[Image]]()
        for _ in range(MAX_CHECKS):
            if not waiting:
                return True
            self.on.jobs.save(self.job)  # its revision names the heartbeats of this check alone
            stream = StreamState.read(self.on)
            before = self._read_items(waiting)
            after = self._watch_heartbeats()
            if after is None:
                return False
            earlier, rows = rows, {key: self._rows.read(key, consistent=True) for key in waiting}
            again = self._read_items(waiting)
            readings = [
                Reading(key, before.get(key), rows[key], again.get(key), earlier.get(key, ()))
                for key in waiting
            ]
            waiting = [each.key for each in readings if not self._decide(each, stream, after)]
        self.counts["changing"] += len(waiting)
        for image in self._read_items(waiting).values():
            self._touch(image)
        return True

    def _read_items(self, keys: Sequence[ItemKey]) -> Mapping[ItemKey, Image]:
        return self.on.store.batch_get(
            keys, consistent=True, retry_budget=self.budget
        ).require_all()

    def _watch_heartbeats(self) -> StreamState | None:
        """Let a heartbeat pass every shard; the state of the stream then, or None for too late."""
        entities = self.on.ledger.derived_types[:1]
        if not entities:
            return StreamState.read(self.on)
        run = HeartbeatRun(f"verify-{self.job.id}-{self.job.rev}", entities)
        watcher = HeartbeatWatcher(self.on.store, self.on.stream, now=self.on.now)
        progress = watcher.watch(run, self.budget)
        if not progress.has_passed:
            return None
        retry(partial(watcher.forget, run), self.budget)
        return StreamState.read(self.on, progress)

    def _decide(self, reading: Reading, before: StreamState, after: StreamState) -> bool:
        """Decide about a suspect; False if it has changed meanwhile, and still differs."""
        key, image = reading.key, reading.after
        faults = self._rows.find_faults(key, image, reading.rows, after)
        if not faults:
            self.counts["lag"] += 1
            return True
        is_new = image is None and may_be_new(reading.rows, reading.earlier, before, after)
        if is_new or not is_same(reading.before, image):
            return False
        if after.is_waiting(parse_owner(key)[1]):
            faults = [fault.as_undecided(SET_ASIDE) for fault in faults]
        repaired = self._repair(reading, faults, after)
        findings = [fault.to_finding(repaired=fault in repaired) for fault in faults]
        self.step.add_findings(findings)
        return True

    # --- Repairs ------------------------------------------------------------------------------

    def _repair(
        self, reading: Reading, faults: Sequence[Fault], stream: StreamState
    ) -> Sequence[Fault]:
        """Repair an item; returns the faults that are repaired."""
        damage = [fault for fault in faults if fault.verdict == "damage"]
        of_rows = [fault for fault in damage if fault.kind not in OF_BASE_ITEMS]
        of_item = [fault for fault in damage if fault.repair]
        # A record without a type reaches no projector, and one that cannot be read is set aside.
        is_readable = not UNTOUCHABLE & {fault.kind for fault in faults}
        repaired: list[Fault] = []
        if of_rows and is_readable:
            if reading.after is not None:
                done = self._touch(reading.after, reading.rows, stream)
            else:
                done = self._remove_rows(reading, stream)
            repaired += of_rows if done else []
        for fault in of_item:
            self.counts["repair_units"] += 1
            if self.job.repair and fault.confirm(self.on.store, self.budget, repairs=True):
                repaired.append(fault)
        return repaired

    def _touch(
        self, image: Image, rows: Sequence[Image] = (), stream: StreamState | None = None
    ) -> bool:
        """Make the projector rewrite all rows of an item; whether it will (rule 38).

        Numbers that no record has are lowered first, each if as read: they would refuse the writes
        of the repair (rule 39).
        """
        lowered: list[Update] = []
        if stream is not None and stream.highest:
            runaway = (row for row in rows if has_runaway_number(row, stream.highest))
            lowered = [lower_runaway_number(row, stream.lowest) for row in runaway]
        units = estimate_units(image) + 2 * len(rows) + len(lowered)
        self.counts["repair_units"] += units
        if not self.job.repair:
            return False
        self._limiter.wait(units)
        for update in lowered:
            retry(partial(try_update, self.on.store, update), self.budget)
        touch = build_repair_touch(image, f"verify-{self.job.id}")
        return retry(partial(try_update, self.on.store, touch), self.budget)

    def _remove_rows(self, reading: Reading, stream: StreamState) -> bool:
        """Make the rows of an item that does not exist tombstones; whether that is done."""
        units = 2 * len(reading.rows)
        self.counts["repair_units"] += units
        if not self.job.repair or not stream.lowest:
            return False
        self._limiter.wait(units)
        partition, now = reading.rows[0]["PK"]["S"], self.on.now()
        numbers = stream.lowest, stream.highest
        remove = partial(remove_rows_without_item, self.on.store, partition, *numbers, now)
        return retry(remove, self.budget) > 0
