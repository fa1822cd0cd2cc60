"""Lambda `redrive`: applies records that were quarantined or discarded, on request.

A command calls it with a `RedriveRequest`, the state machine of jobs with the name of a job.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from daicho.runtime.start_up import build_on_access, pause_garbage_collection

with pause_garbage_collection():
    from daicho.archive.rearchiver import Rearchiver
    from daicho.handlers.wiring.dependencies import AWS_DEPENDENCIES, Dependencies
    from daicho.handlers.wiring.event_wiring import with_events
    from daicho.handlers.wiring.invocation import Context, Handler, make_retry_budget
    from daicho.handlers.wiring.redrive_calls import run_call
    from daicho.plan import Ledger
    from daicho.redrive.redrive import Redrive
    from daicho.redrive.worker import RedriveWorker
    from daicho.runtime.settings import Settings

BUCKETS = ("FAILURE_BUCKET", "ARCHIVE_BUCKET")
FUNCTIONS = ("PROJECT_FUNCTION", "ARCHIVE_FUNCTION")


def build(
    environ: Mapping[str, str],
    ledger: Ledger | None = None,
    dependencies: Dependencies = AWS_DEPENDENCIES,
) -> Handler:
    """Wire the function up."""
    settings = Settings.parse(environ, "DIRTY_SHARDS", *BUCKETS, *FUNCTIONS)
    ledger = ledger or Ledger.load_newest(settings.lock_file)
    now, threads = dependencies.now, dependencies.parallelism
    table = dependencies.table(settings.table_name, connections=threads)
    failures = dependencies.bucket(settings.failure_bucket)
    rearchiver = Rearchiver(table, dependencies.bucket(settings.archive_bucket), ledger, now=now)
    archive = with_events(rearchiver, settings, ledger, dependencies)
    redrive = Redrive.build(
        *(settings, ledger, table, failures, archive),
        threads=threads,
        now=now,
        stream=partial(dependencies.stream, settings.table_name),
    )
    redrive = replace(redrive, code=dependencies.code)
    worker = RedriveWorker(redrive, table, now)

    def handler(event: Mapping[str, Any], context: Context) -> dict[str, Any]:
        retry_budget = make_retry_budget(context, dependencies)
        result: dict[str, Any] = run_call(worker, event, retry_budget)
        return result

    return handler


__getattr__ = build_on_access(__name__, build)
