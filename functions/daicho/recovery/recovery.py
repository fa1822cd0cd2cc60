"""The request of a recovery, and the worker that runs the steps of recoveries (rule 60)."""

from __future__ import annotations

import datetime as dt
from typing import ClassVar

from daicho.errors import Conflict, Invalid
from daicho.jobs.lease import is_under_way
from daicho.layout.backfill_state import RECORDED_KEY
from daicho.plan import Ledger
from daicho.recovery.phases import NO_GAP, EndPhase, PreparePhase
from daicho.recovery.take_over import ReturnedLives
from daicho.release.states import read_deployed
from daicho.storage.protocols import try_put
from daicho.storage.table import Table
from daicho.stream.gap import StreamGap, read_gap
from daicho.tally.watermark import WATERMARK_KEY, Watermark
from daicho.verify.job import VerifyJob, find_verification, request_verification
from daicho.verify.steps import Phase
from daicho.verify.verify import PHASES, VerifyWorker


class RecoveryWorker(VerifyWorker):
    """Works on verifications, and on recoveries, which are verifications of a kind."""

    phases: ClassVar[tuple[type[Phase], ...]] = (PreparePhase, ReturnedLives, *PHASES, EndPhase)


def check_recovery(store: Table, now: dt.datetime) -> StreamGap:
    """The gap of a table that can be recovered now.

    Raises:
        Invalid: there is no gap.
        Conflict: a verification, another recovery or a deployment is under way.
        StoreError: the table does not answer.
    """
    gap = read_gap(store)
    if not gap.is_open:
        raise Invalid(NO_GAP)
    if store.get(RECORDED_KEY, consistent=True) is not None and read_deployed(store) is None:
        raise Conflict("a deployment is under way: recover when it is over")
    job = find_verification(store)
    if job is not None and is_under_way(job, now):
        raise Conflict(f"verification {job.id} is under way: wait for its end")
    return gap


def request_recovery(store: Table, asked: VerifyJob, ledger: Ledger) -> VerifyJob:
    """Record a request to end the gap of a table; returns the job.

    ``asked``: the time and the rate of it, and who asks.

    Raises:
        Invalid, Conflict, StoreError: see `check_recovery`.
    """
    gap = check_recovery(store, dt.datetime.fromisoformat(asked.asked_at))
    asked.repair, asked.recovers = True, gap.found_at
    return request_verification(store, asked, ledger)


def declare_gap(store: Table, reason: str, now: dt.datetime) -> StreamGap:
    """Record that somebody knows of lost records; figures include what they include now.

    Raises:
        Conflict: the rollup looked at the stream meanwhile; call again.
        StoreError: the table does not answer.
    """
    live = Watermark.from_item(store.get(WATERMARK_KEY, consistent=True)).live
    gap = read_gap(store).add_reasons([reason], live, now)
    if not try_put(store, gap.build_put()):
        raise Conflict("the stream was looked at meanwhile: try again")
    return gap
