"""The job that raises the watermark of figures, wired up for the rollup."""

from __future__ import annotations

import datetime as dt
from functools import partial

from daicho.handlers.wiring.dependencies import Dependencies
from daicho.plan import Ledger
from daicho.runtime.retry import RetryBudget
from daicho.runtime.settings import Settings
from daicho.storage.protocols import DescribesStream
from daicho.storage.table import Table
from daicho.stream.shard_progress import EmulatedStream
from daicho.stream.watermark_job import RunStart, WatermarkJob
from daicho.tally.rollup import Rollup, RollupReport


def build_watermark_job(
    settings: Settings, ledger: Ledger, dependencies: Dependencies, table: Table
) -> WatermarkJob | None:
    """The job; None if the settings turn it off, or nothing is derived."""
    if not settings.heartbeat_seconds or not ledger.derived_types:
        return None

    def open_stream() -> DescribesStream:
        emulated = settings.emulated_stream
        return EmulatedStream() if emulated else dependencies.stream(settings.table_name)

    return WatermarkJob(
        table,
        open_stream,
        partial(dependencies.bucket, settings.failure_bucket),
        ledger.derived_types[0],
        dt.timedelta(seconds=settings.heartbeat_seconds),
        dependencies.now,
        settings.project_mapping,
        dependencies.mapping_state,
    )


def run_rollup(
    rollup: Rollup, watermark: WatermarkJob | None, retry_budget: RetryBudget
) -> tuple[RollupReport, RunStart | None]:
    """Run a rollup, and raise the watermark by what was read before it, which is returned too.

    Raises:
        StoreError: see `Rollup.run`.
    """
    start = watermark.begin() if watermark is not None else None
    report = rollup.run(retry_budget)
    if watermark is not None and start is not None:
        is_active = report.oldest_mark is not None
        watermark.finish(start, is_complete=report.is_complete, is_active=is_active)
    return report, start
