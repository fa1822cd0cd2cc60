"""The item of a verification: what is verified, how far it has come, and what it has found.

There is one for the whole table::

    PK #verify   SK job
"""

from __future__ import annotations

import datetime as dt
import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, ClassVar, Literal

from daicho.errors import Conflict, Invalid, StoreError
from daicho.jobs.lease import JobStore, is_under_way
from daicho.jobs.state_machine import VERIFY_PREFIX, StateMachine
from daicho.plan import Ledger
from daicho.rebuild.job import TableJob, build_job_id
from daicho.storage import keys
from daicho.storage.attributes import ItemKey
from daicho.storage.parallel_scan import ScanSegments
from daicho.storage.protocols import GetsItems
from daicho.storage.table import Table
from daicho.verify.findings import MAX_NAMED, Finding

VERIFY_KEY = ItemKey(keys.render("", "verify"), "job")
UNCOUNTED = "uncounted"
"""In the places of a job: a restored table has not counted all deletions of the archive's rows."""
SAMPLED_SEGMENTS = 32
"""Segments of a sample: of as many that each is read from one place of the table."""
MAX_SEGMENTS = 1_000_000
"""Segments that DynamoDB allows. Source: Scan, Amazon DynamoDB API Reference."""
SCHEDULE = "schedule"
_log = logging.getLogger(__name__)
Outcome = Literal["clean", "damage", "undecided", "repaired"]


@dataclass
class VerifyJob(TableJob):
    """One verification.

    ``asked_by``: the user who asked for it, or `SCHEDULE`. ``daily_at``: when the last run of the
    schedule began. ``phase``: see `daicho.verify.verify`.
    ``entity``, ``tenant``: what is verified; "" for all. ``sample``: the share of the table, from 0
    to 1. ``repair``: whether damage is repaired. ``rate``: write units a second of repairs.
    ``findings``: the first ones. ``pending``: by phase, objects with suspects to be checked again.
    ``places``: what phases note between their steps, by their names. ``recovers``: the gap that the
    run is to end; "" if it is no recovery.

    The counts: ``items`` and ``rows`` that were compared, ``damage``, ``undecided``, ``repaired``
    findings, ``lag``: items whose rows were late, ``changing``: items that changed at each check.
    """

    KEY: ClassVar = VERIFY_KEY
    id: str
    asked_at: str
    asked_by: str = ""
    daily_at: str = ""
    phase: str = ""
    entity: str = ""
    tenant: str = ""
    sample: float = 1.0
    repair: bool = False
    recovers: str = ""
    findings: list[dict[str, Any]] = field(default_factory=list)
    pending: dict[str, list[str]] = field(default_factory=dict)
    places: dict[str, Any] = field(default_factory=dict)

    @property
    def machine_input(self) -> dict[str, str]:
        """What the state machine of jobs gets. No tenant has an empty name."""
        return {"tenant": "", "job": f"{VERIFY_PREFIX}{self.id}"}

    @property
    def is_whole(self) -> bool:
        """Whether every base item is read: only then tallies can be recomputed."""
        return self.sample >= 1

    @property
    def outcome(self) -> Outcome | None:
        """The result; None while there is none."""
        if self.state != "succeeded":
            return None
        if self.counts.get("damage", 0) > self.counts.get("repaired", 0):
            return "damage"
        if self.counts.get("undecided", 0):
            return "undecided"
        return "repaired" if self.counts.get("repaired", 0) else "clean"

    def to_json(self) -> dict[str, Any]:
        """As commands and the operators' API show it."""
        hidden = {"segments", "pending", "places", "rev", "passes", "finding_pass", "began"}
        shown = {name: value for name, value in vars(self).items() if name not in hidden}
        return {**shown, "percent": self.percent, "outcome": self.outcome}

    def add_findings(self, findings: Sequence[Finding]) -> None:
        """Count findings, and name the first ones. Those that are named already are left out."""
        named = {Finding.from_json(each).identity for each in self.findings}
        findings = [each for each in findings if each.identity not in named]
        self.add_counts(
            damage=sum(each.verdict == "damage" for each in findings),
            undecided=sum(each.verdict == "undecided" for each in findings),
            repaired=sum(each.repaired for each in findings),
        )
        room = MAX_NAMED - len(self.findings)
        self.findings += [each.to_json() for each in findings[:room]]


def find_verification(store: GetsItems) -> VerifyJob | None:
    """The last verification of the table, if there was one."""
    image = store.get(VERIFY_KEY, consistent=True)
    return None if image is None else VerifyJob.from_image(image)


def choose_segments(sample: float, run: str) -> dict[str, Any] | None:
    """The position of a scan of a share of the table; None for the whole table.

    The segments are drawn by the id of the run, so a step that is repeated reads the same ones. All
    items of a partition key are in one segment.
    """
    if sample >= 1:
        return None
    total = min(MAX_SEGMENTS, max(SAMPLED_SEGMENTS, round(SAMPLED_SEGMENTS / sample)))
    draw = Random(hashlib.sha256(run.encode()).digest())  # noqa: S311  # it chooses a sample
    chosen = sorted(draw.sample(range(total), SAMPLED_SEGMENTS))
    return ScanSegments(total, dict.fromkeys(chosen)).to_json()


def request_verification(store: Table, asked: VerifyJob, ledger: Ledger) -> VerifyJob:
    """Record a request; returns the job. An execution of the state machine then works on it.

    ``asked``: the options; its ``asked_at`` is the time of the request.

    Raises:
        Invalid: an option has no meaning, for example an unknown entity.
        Conflict: another verification is under way.
        OvertakenError: the job was changed by another process; call again.
        StoreError: the table does not answer.
    """
    if asked.entity and asked.entity not in ledger.entities:
        raise Invalid(f"no entity is called {asked.entity}", field="entity")
    if not 0 < asked.sample <= 1:
        raise Invalid("a sample is more than 0 and at most 100 %", field="sample")
    now = dt.datetime.fromisoformat(asked.asked_at)
    before = find_verification(store)
    if before is not None and is_under_way(before, now):
        raise Conflict(f"verification {before.id} is under way: wait for its end")
    asked.rev, asked.daily_at = (before.rev, before.daily_at) if before is not None else (0, "")
    if asked.asked_by == SCHEDULE:
        asked.daily_at = asked.asked_at
    asked.id = build_job_id(now, asked.rev)
    asked.segments = choose_segments(asked.sample, asked.id)
    JobStore(store, lambda: now).save(asked)
    return asked


def start_verification(machine: StateMachine, job: VerifyJob) -> None:
    """Let the state machine work on a job. Once more for one request does nothing.

    Raises:
        StoreError: the state machine does not answer.
    """
    machine.start(job.machine_input["job"], job.machine_input)


def start_daily(
    store: Table, machine: StateMachine, ledger: Ledger, now: dt.datetime, percent: int
) -> None:
    """Start the verification of a share of the table, if none of the schedule began for a day.

    A later call starts it if another verification is under way, or a store fails.
    """
    if not percent:
        return
    try:
        before = find_verification(store)
        if before is not None and before.asked_by == SCHEDULE and before.is_requested:
            start_verification(machine, before)  # perhaps by a call that was killed
        due = before.daily_at if before is not None else ""
        if due and now < dt.datetime.fromisoformat(due) + dt.timedelta(days=1):
            return
        at, sample = keys.render_instant(now), percent / 100
        asked = VerifyJob("", at, asked_by=SCHEDULE, sample=sample)
        start_verification(machine, request_verification(store, asked, ledger))
    except (Conflict, StoreError) as error:
        _log.warning("left for the next call: %s", error)
