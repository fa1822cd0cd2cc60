"""Lambda `rollup`: each minute updates totals, and each hour retires closed stream shards."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from functools import partial
from typing import Any

from daicho.runtime.start_up import build_on_access, pause_garbage_collection

with pause_garbage_collection():
    from daicho.handlers.wiring.dependencies import AWS_DEPENDENCIES, Dependencies
    from daicho.handlers.wiring.invocation import Context, Handler, make_retry_budget
    from daicho.handlers.wiring.watermark_wiring import build_watermark_job, run_rollup
    from daicho.plan import Ledger
    from daicho.runtime.metrics import NONE, emit, emit_damage
    from daicho.runtime.settings import Settings
    from daicho.stream.retirement import ShardRetirement
    from daicho.tally.rollup import Rollup


def build(
    environ: Mapping[str, str],
    ledger: Ledger | None = None,
    dependencies: Dependencies = AWS_DEPENDENCIES,
) -> Handler:
    """Wire the function up. Without a settle time it retires no shards."""
    settings = Settings.parse(environ, "DIRTY_SHARDS")
    threads, now = dependencies.parallelism, dependencies.now
    table = dependencies.table(settings.table_name, connections=threads).with_metering()
    settle = dt.timedelta(seconds=settings.settle_seconds)
    open_stream = partial(dependencies.stream, settings.table_name)
    retirement = ShardRetirement(table, open_stream, settle, now)
    newest = ledger or Ledger.load_newest(settings.lock_file)
    rollup = Rollup(
        table,
        newest,
        dirty_shards=settings.dirty_shards,
        threads=threads,
        now=now,
        get_settled_shards=retirement.get_settled,
    )
    watermark = build_watermark_job(settings, newest, dependencies, table)

    def handler(_event: Mapping[str, Any], context: Context) -> dict[str, Any]:
        budget = make_retry_budget(context, dependencies)
        report, start = run_rollup(rollup, watermark, budget)
        retires = settle and budget.has_time_left
        retired = retirement.retire_if_due() if retires else 0
        lag = report.age_of_oldest_mark(now())
        lag, is_lost = (max(lag, start.lag), start.gap) if start else (lag, False)
        emit_damage(int(is_lost))
        emit({**report.counts(), "ShardsRetired": retired}, {"RollupLag": lag} if lag else NONE)
        return dict(vars(report))

    return handler


__getattr__ = build_on_access(__name__, build)
