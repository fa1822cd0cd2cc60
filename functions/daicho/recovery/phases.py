"""The phases that a recovery has besides those of a verification (rule 60).

A recovery is a verification that repairs, with one phase before it and one behind it. The first
makes void what the gap has left and lets heartbeats pass, so that every later record is handled.
Then all rows and tallies are compared with the base items and repaired (rules 35 to 39), as in any
verification. The last one ends the gap, if nothing is left that is wrong or undecided.

A recovery that fails leaves the gap as it is. It may be repeated.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from typing import Any

from daicho.jobs.step import JobStep
from daicho.layout.item_keys import parse_derived_partition
from daicho.recovery.void import (
    move_lost_batches,
    retire_lost_shards,
    void_claims,
    void_lost_rows,
)
from daicho.storage import keys
from daicho.storage.protocols import StreamDescription, try_put
from daicho.stream.gap import DISABLED, StreamGap, read_gap
from daicho.stream.heartbeat_watcher import HeartbeatRun, HeartbeatWatcher
from daicho.stream.shard_items import read_shards
from daicho.stream.shard_progress import StreamProgress
from daicho.tally.watermark import WATERMARK_KEY, Watermark
from daicho.verify.faults import parse_owner
from daicho.verify.findings import Kind
from daicho.verify.steps import Phase, VerifyStep

DERIVED = frozenset(
    (
        *(Kind.ROW_MISSING, Kind.ROW_WITHOUT_ITEM, Kind.ROW_NOT_DERIVED, Kind.WRONG_LIST),
        *(Kind.WRONG_ORDER, Kind.WRONG_COPY, Kind.ROW_NUMBER, Kind.ROW_STATE, Kind.PAYLOAD),
        *(Kind.TALLY, Kind.SLOT_NUMBER, Kind.TOTAL, Kind.TALLY_WITHOUT_ITEMS, Kind.RANKING),
    )
)
"""Kinds of what the stream keeps up to date. Others are not a matter of lost records."""
MAX_NAMED = 20
"""Items that are named of those that are gone without a row in the archive."""
PLACE = "prepare"
LOOK_S = 60
"""The rollup looks at the stream each minute."""
MAX_LOOKS = 15
"""Minutes that the end of a recovery waits for the rollup."""
NO_GAP = "no records of the stream are lost: there is nothing to recover"


class PreparePhase(Phase):
    """Makes void what the gap has left, and waits until the stream works."""

    name = PLACE

    def run(self) -> JobStep | None:
        """Continue; a recovery that cannot begin fails with a sentence."""
        if not self.job.recovers:
            return None
        on = self.on
        gap, stream = read_gap(on.store), on.stream.describe()
        if reason := find_obstacle(gap, stream, self.job.recovers) or self._void(gap, stream):
            return fail(self.step, reason)
        settled = dt.datetime.fromisoformat(self._notes["settled"])
        if settled > on.now():
            return self.step.wait(int((settled - on.now()).total_seconds()) + 1)
        if gap.label != stream.label:  # a loss that the rollup sees later would be a new one
            return self.step.wait(LOOK_S)
        # Only now no attempt is left that could put a claim into a shard that is retired.
        if reason := self._void(gap, stream):
            return fail(self.step, reason)
        if on.archive is not None:
            void_lost_rows(on.store, on.archive, on.ledger.archived_types, stream, on.now())
        run = HeartbeatRun(f"recover-{self.job.id}", on.ledger.derived_types[:1])
        watcher = HeartbeatWatcher(on.store, on.stream, now=on.now)
        progress = watcher.watch(run, self.budget)
        if not progress.has_passed:
            self.job.reason = f"{progress}: does the projector read the stream?"
            self.step.save()
            return JobStep(done=False)
        watcher.forget(run)
        self._notes["passed"] = keys.render_instant(on.now())
        self.job.reason = ""
        self.step.save()
        return None

    def _void(self, gap: StreamGap, stream: StreamDescription) -> str:
        """Make void what is left; returns why the recovery must wait for somebody, or ""."""
        on, now = self.on, self.on.now()
        retire_lost_shards(on.store, stream.label, gap.earlier, now)
        if "settled" not in self._notes:
            settled = keys.render_instant(now + dt.timedelta(seconds=on.settle))
            self._notes.update(label=stream.label, settled=settled)
            self.step.save()
        name = move_lost_batches(on.failures, stream.label, emulated=not stream.label)
        if name:
            return f"{name} is not applied: daicho redrive, then recover again"
        if shard := void_claims(on.store, on.failures, stream.label, now):
            return f"claims of {shard} are open: daicho redrive, then recover again"
        return ""

    @property
    def _notes(self) -> dict[str, Any]:
        notes: dict[str, Any] = self.job.places.setdefault(PLACE, {})
        return notes


class EndPhase(Phase):
    """Ends the gap if nothing is left of it."""

    name = "end"

    def run(self) -> JobStep | None:
        """Look at all findings, and then at the stream."""
        if not self.job.recovers:
            return None
        on, prepared = self.on, self.job.places[PLACE]
        seen = Watermark.from_item(on.store.get(WATERMARK_KEY, consistent=True))
        if not read_gap(on.store).is_looked_at(seen.low_time, on.now()):
            # After a pause of everything: what was lost in it is seen by the next rollup.
            prepared["looks"] = prepared.get("looks", 0) + 1
            if prepared["looks"] > MAX_LOOKS:
                return fail(self.step, "the function rollup does not look at the stream")
            return self.step.wait(LOOK_S)
        self.step.save()
        left, gone = self._read_findings()
        self.job.reason = self._end_gap() if not left else describe_left(left)
        if gone:
            self.job.reason = "; ".join(filter(None, (self.job.reason, describe_gone(gone))))
        return None

    def _read_findings(self) -> tuple[Counter[str], dict[str, list[str]]]:
        """How many findings of each kind are left, and by entity the items that are gone.

        Only of archived entities: their items may have expired, without a row in the archive.
        """
        left: Counter[str] = Counter()
        gone: dict[str, list[str]] = {}
        archived = self.on.ledger.archived_types
        for each in self.step.findings.read():
            if each.verdict == "undecided" or (each.kind in DERIVED and not each.repaired):
                left[each.kind] += 1
            entity = parse_owner(each.key)[1].lstrip("~")
            if each.kind is Kind.ROW_WITHOUT_ITEM and entity in archived:
                item = parse_derived_partition(each.key.pk)
                gone.setdefault(entity, []).append(f"{item.pk} {item.sk}")
        return left, {entity: sorted(set(names)) for entity, names in gone.items()}

    def _end_gap(self) -> str:
        """End the gap; returns why that is not possible."""
        on, prepared = self.on, self.job.places[PLACE]
        gap, stream = read_gap(on.store), on.stream.describe()
        if reason := find_obstacle(gap, stream, self.job.recovers):
            return reason
        if stream.label != prepared["label"]:
            return "the table got another stream meanwhile: recover again"
        # Older code has not noted when the heartbeats had passed, which was later.
        passed = prepared.get("passed", prepared["settled"])
        if gap.has_lost_since(dt.datetime.fromisoformat(passed)):
            return "records were lost again meanwhile: recover again"
        items = read_shards(on.store, [shard.id for shard in stream.shards])
        unfinished = StreamProgress(stream.shards, items).list_unfinished()
        if not try_put(on.store, gap.end(stream.label, unfinished, on.now()).build_put()):
            return "the stream was looked at meanwhile: recover again"
        return ""


def find_obstacle(gap: StreamGap, stream: StreamDescription, id: str) -> str:
    """Why a recovery cannot continue, or "". ``id``: of the gap that it is of."""
    if not gap.is_open:
        return NO_GAP
    if gap.found_at != id:
        return "it is of an earlier gap: recover again"
    if not stream.is_enabled:
        return f"{DISABLED}. Deploy the stack, so that its functions read the stream"
    if gap.label and stream.label < gap.label:
        return f"the stream's label {stream.label} is before {gap.label}: its numbers are too low"
    return ""


def fail(step: VerifyStep, reason: str) -> JobStep:
    """End the job: somebody has to do something before it can be repeated."""
    step.job.state, step.job.reason = "failed", reason
    step.save()
    return JobStep(done=True)


def describe_left(left: Counter[str]) -> str:
    """What is left, in a sentence."""
    kinds = ", ".join(f"{count} × {kind}" for kind, count in sorted(left.items()))
    return f"the gap is not over: {kinds} are left. Recover again"


def describe_gone(gone: dict[str, list[str]]) -> str:
    """Which items are gone, in a sentence."""
    counts = ", ".join(f"{len(names)} of {entity}" for entity, names in sorted(gone.items()))
    names = [name for each in gone.values() for name in each][:MAX_NAMED]
    return (
        f"items that are gone without a stream record: {counts} ({', '.join(names)}). "
        "What expired of them is in the archive only if --from-table has named a copy"
    )
