"""The trial of a purge: what replaced instances leave in the table, and whether items change."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from bench.rebuild.stage import Stage
from bench.rebuild.workers import make_step
from daicho.layout.backfill_state import BackfillState, build_backfill_key
from daicho.plan import Decisions, Ledger
from daicho.rebuild.purge_job import PurgeJob, find_purge
from daicho.rebuild.requests import start_purge
from daicho.release.states import build_deployed_update, build_record_update, read_stage_states
from daicho.runtime.clock import utc_now
from daicho.storage.protocols import apply_update

DISABLED = frozenset({"Sale.by_status", "Sale.per_country", "Sale.revenue", "Person.search"})
"""The declarations whose first instance retires after the change."""
RATE = 5_000.0


@dataclass
class PurgeResult:
    """What the table has of the disabled instances. ``changed``: base items that are different."""

    rows_before: int = 0
    tallies_before: int = 0
    rows: int = 0
    tallies: int = 0
    changed: int = 0
    deleted: int = 0


@dataclass
class PurgeTrial:
    """One purge of the instances that the changed declarations replaced."""

    stage: Stage
    say: Callable[[str], None]
    result: PurgeResult = field(default_factory=PurgeResult)

    def run(self) -> PurgeResult:
        """Release a generation that disables them, purge, and look at what is left."""
        stage, result = self.stage, self.result
        ledger = stage.after.check_locked(
            stage.after.append_generations(stage.ledger, Decisions(disabled=DISABLED))
        )
        result.rows_before, result.tallies_before = self._count()
        before = self._digest_items()
        self._release(ledger)
        job = self._start(ledger)
        step = make_step(stage, ledger, job.machine_input["job"])
        while not (answer := step()).done:
            found = find_purge(stage.table) or job
            self.say(f"purge: pass {found.passes}, {found.seen:,} items read, {found.reason}")
            time.sleep(answer.wait)
        ended = find_purge(stage.table)
        if ended is None or ended.state != "succeeded":
            raise RuntimeError(f"the purge is not complete: {ended}")
        result.deleted = int(ended.counts["deleted"])
        result.rows, result.tallies = self._count()
        after = self._digest_items()
        result.changed = sum(after.get(key) != digest for key, digest in before.items())
        result.changed += len(after.keys() - before.keys())
        return result

    def _release(self, ledger: Ledger) -> None:
        """Record the generations as a release and a finished deployment do."""
        table = self.stage.table
        for entity in {name.partition(".")[0] for name in DISABLED}:
            item = table.get(build_backfill_key(entity), consistent=True)
            if item is None:
                raise RuntimeError(f"{entity} has no backfill item")
            state = BackfillState.parse(entity, item)
            released = replace(state, newest=ledger.newest_generation(entity).number)
            apply_update(table, released.to_update(state))
        apply_update(table, build_record_update("arn", frozenset(ledger.derived_types)))
        apply_update(table, build_deployed_update("arn", utc_now()))

    def _start(self, ledger: Ledger) -> PurgeJob:
        table = self.stage.table
        states = read_stage_states(table).states
        machine: Any = self
        job = start_purge(table, machine, ledger, states, utc_now(), RATE)
        if job is None:
            raise RuntimeError("nothing is to be purged")
        return job

    def start(self, name: str, given: object) -> None:
        """Start no execution: this trial repeats the steps itself."""

    def _count(self) -> tuple[int, int]:
        """Rows of the first search and of listings, and slots and totals of first aggregates."""
        rows = tallies = 0
        for keys in self._scan("PK, SK"):
            pk, sk = keys["PK"]["S"], keys["SK"]["S"]
            rows += "#~Sale#" in pk and sk.startswith("by_status#1#")
            rows += "#~Person#" in pk and sk.startswith("search#1#")
            tallies += any(f"#+Sale.{name}#1#" in pk for name in ("per_country", "revenue"))
        return rows, tallies

    def _digest_items(self) -> dict[str, str]:
        """A digest of every base item, by key."""
        return {
            f"{image['PK']['S']} {image['SK']['S']}": hashlib.sha256(
                repr(sorted((name, repr(value)) for name, value in image.items())).encode()
            ).hexdigest()
            for image in self._scan("")
            if "version" in image and "type" in image
        }

    def _scan(self, projection: str) -> Iterator[Mapping[str, Any]]:
        """All items, read by plain requests. ``projection``: attributes; empty for all."""
        request: dict[str, Any] = {"TableName": self.stage.table_name, "ConsistentRead": True}
        if projection:
            request["ProjectionExpression"] = projection
        for page in self.stage.dynamodb.get_paginator("scan").paginate(**request):
            yield from page["Items"]
