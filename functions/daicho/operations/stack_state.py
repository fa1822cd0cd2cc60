"""What the console shows of the stack: its declarations, deletions of tenants, and its health.

Alarms and metrics are on the dashboard of CloudWatch, whose address is named. A value that is not
known is None, with the reason in ``unknown``.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from daicho.archive.audit import ROUND_KEY, AuditRound
from daicho.archive.forget_requests import ForgetRequest, build_request_key
from daicho.layout.backfill_state import BackfillState, render_instance
from daicho.layout.tenant_items import DELETIONS, build_job_key, parse_job_index_key
from daicho.plan import Ledger
from daicho.plan.changes import compare_ledgers, cut_ledger
from daicho.query.paging import CursorBinding, CursorPosition
from daicho.rebuild.job import RebuildJob
from daicho.rebuild.requests import find_job
from daicho.release.instance_states import InstanceState, list_instance_states
from daicho.release.states import read_recorded_states
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.retry import Mapper
from daicho.runtime.settings import Settings
from daicho.storage import attributes, keys
from daicho.storage.bucket import Bucket
from daicho.storage.requests import Query
from daicho.storage.table import Table
from daicho.stream.failed_batch import ON_FAILURE_PREFIX
from daicho.stream.gap import StreamGap, read_gap
from daicho.stream.shard_items import list_quarantined, read_shard
from daicho.tally.dirty_shards import MAX_REMEMBERED
from daicho.tally.slots import render_dirty_partition
from daicho.tenants.deletion_job import DeletionJob

UNFINISHED = (InstanceState.BUILDING, InstanceState.UNPROVEN, InstanceState.APPLIED)
"""The states that a rebuild ends."""


def list_generations(ledger: Ledger) -> list[dict[str, Any]]:
    """Each generation, newest first by entity, with what it changed in words."""
    return [
        {
            "entity": entity,
            "generation": generation.number,
            "changes": _describe_changes(ledger, entity, earlier.number, generation.number)
            if earlier
            else [],
        }
        for entity in sorted(ledger.entities)
        for generations in [ledger.list_generations(entity)]
        for earlier, generation in reversed(
            list(zip((None, *generations[:-1]), generations, strict=True))
        )
    ]


def list_declarations(
    ledger: Ledger, states: Mapping[str, BackfillState], job: RebuildJob | None
) -> list[dict[str, Any]]:
    """The instances of all declarations. An unknown generation has no plan, so it is left out."""
    return [
        {
            "entity": entity,
            "name": status.declaration,
            "instance": render_instance((status.declaration, status.since)),
            "state": str(status.state),
            "rebuild": describe_rebuild(job)
            if job and entity in job.targets and status.state in UNFINISHED
            else None,
        }
        for entity in sorted(ledger.entities)
        for state in [states.get(entity)]
        for generation in ledger.list_generations(entity)
        if generation.number == (state.newest if state else ledger.newest_generation(entity).number)
        for status in list_instance_states(generation.plan, state, ledger)
    ]


def describe_rebuild(job: RebuildJob) -> dict[str, Any] | None:
    """The progress of a rebuild; None if it is over."""
    if job.state == "succeeded":
        return None
    return {
        "job": job.id,
        "state": job.state,
        "phase": job.phase,
        "done": job.seen,
        "total": job.total or None,
        "paused": job.state == "paused",
        "reason": job.reason or None,
    }


def _describe_changes(ledger: Ledger, entity: str, before: int, after: int) -> list[str]:
    earlier, later = (cut_ledger(ledger, {entity: number}) for number in (before, after))
    return [change.sentence for change in compare_ledgers(earlier, later)]


CURSORS = CursorBinding("", ("operations", "deletions"))


def list_deletions(
    store: Table, cursor: str | None, limit: int, map_all: Mapper
) -> tuple[list[dict[str, Any]], str | None]:
    """A page of deletions, and the cursor of the next one.

    Raises:
        BadCursor: the cursor is none of this list.
    """
    position = CURSORS.read_cursor(cursor)
    query = Query(
        DELETIONS,
        index="GSI2",
        below=position.order if position else None,
        forward=False,
        limit=limit,
    )
    page = next(iter(store.query_pages(query)))
    places = [item["GSI2SK"]["S"] for item in page.items]

    def read(place: str) -> dict[str, Any] | None:
        tenant, id = parse_job_index_key(place)
        item = store.get(build_job_key(tenant, id), consistent=True)
        mark = store.get(build_request_key(tenant))
        return None if item is None else _describe(DeletionJob.from_image(item), mark)

    found = [each for each in map_all(read, places) if each is not None]
    more = page.last is not None and bool(places)
    return found, CURSORS.write_cursor(CursorPosition(places[-1])) if more else None


def _describe(job: DeletionJob, mark: Mapping[str, Any] | None) -> dict[str, Any]:
    """A deletion. ``forget_due``: when work on its archived rows is due; None if none is left."""
    request = ForgetRequest.from_item(mark) if mark else None
    again = request.again if request else None
    return {
        "tenant": job.tenant,
        "job": job.id,
        "state": job.state,
        "phase": "done" if job.state == "succeeded" else "waiting" if job.waits else job.phase,
        "passes": job.passes,
        "asked_by": job.asked_by,
        "asked_at": job.asked_at,
        "updated_at": job.updated_at,
        "archive": job.archive,
        "error": job.error or None,
        "forget_due": keys.render_instant(again) if again else None,
    }


def describe_gap(gap: StreamGap) -> dict[str, Any] | None:
    """Since when which records of the stream are lost; None if none are."""
    if not gap.is_open:
        return None
    return {"since": gap.begin or None, "found_at": gap.found_at, "reasons": list(gap.reasons)}


MAX_COUNTED = 10_000
"""The most discarded batches that are counted."""


@dataclass(frozen=True)
class Health:
    """Reads the health of one stack."""

    store: Table
    failures: Bucket
    ledger: Ledger
    settings: Settings
    now: Callable[[], dt.datetime]

    def read(self) -> dict[str, Any]:
        """Everything that is known.

        Raises:
            StoreError: the table or the bucket does not answer.
        """
        unknown: dict[str, str] = {}
        stage_states = read_recorded_states(self.store)
        if not stage_states.is_recorded:
            unknown["declarations"] = "no release has recorded the states of this table"
        age = self._find_audit_age()
        if age is None:
            unknown["audit_age_seconds"] = "no audit has begun"
        return {
            "stage": self.settings.stage,
            "at": keys.render_instant(self.now()),
            "dashboard": self.settings.dashboard or None,
            "rollup_lag_seconds": self._compute_rollup_lag(),
            "gap": describe_gap(read_gap(self.store)),
            "open_claims": self._count_open_claims(),
            "discarded": sum(
                1 for _ in islice(self.failures.list_names(ON_FAILURE_PREFIX), MAX_COUNTED)
            ),
            "audit_age_seconds": age,
            "declarations": list_declarations(
                self.ledger, stage_states.states, find_job(self.store)
            )
            if stage_states.is_recorded
            else None,
            "unknown": unknown,
        }

    def _compute_rollup_lag(self) -> float:
        """The age of the oldest dirty mark; 0 without one."""
        stored = self.store.get(MAX_REMEMBERED) or {}
        partitions = max(self.settings.dirty_shards, attributes.get_integer(stored, "shards") or 0)
        marks = [
            item["GSI2SK"]["S"]
            for number in range(partitions)
            for item in self._read_first(
                Query(render_dirty_partition(number), index="GSI2", limit=1)
            )
        ]
        if not marks:
            return 0.0
        return max(0.0, (self.now() - dt.datetime.fromisoformat(min(marks))).total_seconds())

    def _count_open_claims(self) -> int:
        return sum(read_shard(self.store, shard).open for shard in list_quarantined(self.store))

    def _find_audit_age(self) -> float | None:
        """Seconds since an audit was last complete; None before the first one has begun."""
        item = self.store.get(ROUND_KEY)
        if item is None:
            return None
        return max(0.0, (self.now() - AuditRound.parse(item).whole).total_seconds())

    def _read_first(self, query: Query) -> tuple[Mapping[str, Any], ...]:
        return next(iter(self.store.query_pages(query))).items
