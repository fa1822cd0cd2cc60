"""Lambda `sweep`: every few minutes, removes the remains of requests that ended half-way.

It also starts a rebuild if an item of an older generation was found, and a verification a day.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from daicho.runtime.start_up import build_on_access, pause_garbage_collection

with pause_garbage_collection():
    from daicho.handlers.wiring.dependencies import AWS_DEPENDENCIES, Dependencies
    from daicho.handlers.wiring.invocation import Context, Handler, make_retry_budget
    from daicho.plan import Ledger
    from daicho.rebuild.requests import rebuild_older_items
    from daicho.runtime.metrics import MAINTENANCE_METRIC, emit, emit_problems
    from daicho.runtime.settings import Settings
    from daicho.sweep import Sweep
    from daicho.verify.job import start_daily


def build(
    environ: Mapping[str, str],
    ledger: Ledger | None = None,
    dependencies: Dependencies = AWS_DEPENDENCIES,
) -> Handler:
    """Wire the function up."""
    settings = Settings.parse(environ, "OBJECT_BUCKET", "JOB_MACHINE")
    table, machine = (
        dependencies.table(settings.table_name),
        dependencies.machine(settings.job_machine),
    )
    newest = ledger or Ledger.load_newest(settings.lock_file)
    bucket, now = cache(lambda: dependencies.bucket(settings.object_bucket)), dependencies.now
    sweep = Sweep(table, bucket, now)

    def handler(_event: Mapping[str, Any], context: Context) -> dict[str, Any]:
        older = rebuild_older_items(table, machine, newest, now(), settings.rebuild_units)
        start_daily(table, machine, newest, now(), settings.verify_percent)
        report = vars(sweep.run(make_retry_budget(context, dependencies)))
        counts = {f"Sweep{name.capitalize()}": count for name, count in report.items()}
        stuck = counts.pop("SweepStuck")
        emit(counts)
        emit_problems(MAINTENANCE_METRIC, {"SweepStuck": stuck, "OldGenerationWritten": older})
        return dict(report)

    return handler


__getattr__ = build_on_access(__name__, build)
