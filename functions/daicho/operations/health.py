"""The health of a stack: what its table stores about its own work.

Alarms and metrics are on the dashboard of CloudWatch, whose address is named. A value that is not
known is None, with the reason in ``unknown``.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from daicho.archive.audit import ROUND_KEY, AuditRound
from daicho.operations.declarations import list_declarations
from daicho.plan import Ledger
from daicho.rebuild.requests import find_job
from daicho.release.states import read_recorded_states
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes, keys
from daicho.storage.bucket import Bucket
from daicho.storage.requests import Query
from daicho.storage.table import Table
from daicho.stream.claims import QUARANTINE, ShardClaims, build_shard_key
from daicho.stream.failed_batch import ON_FAILURE_PREFIX
from daicho.tally.dirty_shards import MAX_REMEMBERED
from daicho.tally.slots import render_dirty_partition

MAX_COUNTED = 10_000
"""The most discarded batches that are counted."""


@dataclass(frozen=True)
class Health:
    """Reads the health of one stack. ``dashboard``: the address of its dashboard; empty if none."""

    store: Table
    failures: Bucket
    ledger: Ledger
    stage: str
    dashboard: str
    dirty_shards: int
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
            "stage": self.stage,
            "at": keys.render_instant(self.now()),
            "dashboard": self.dashboard or None,
            "rollup_lag_seconds": self._compute_rollup_lag(),
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
        partitions = max(self.dirty_shards, attributes.get_integer(stored, "shards") or 0)
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
        return sum(
            ShardClaims.from_item(
                shard, self.store.get(build_shard_key(shard), consistent=True)
            ).open
            for page in self.store.query_pages(Query(QUARANTINE, index="GSI2"))
            for shard in (item["GSI2SK"]["S"] for item in page.items)
        )

    def _find_audit_age(self) -> float | None:
        """Seconds since an audit was last complete; None before the first one has begun."""
        item = self.store.get(ROUND_KEY)
        if item is None:
            return None
        return max(0.0, (self.now() - AuditRound.parse(item).whole).total_seconds())

    def _read_first(self, query: Query) -> tuple[Mapping[str, Any], ...]:
        return next(iter(self.store.query_pages(query))).items
