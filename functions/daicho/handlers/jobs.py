"""Lambda `jobs`: a step of a job; the state machine calls it until the job is done."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import Any

from daicho.runtime.start_up import build_on_access, pause_garbage_collection

with pause_garbage_collection():
    from daicho.archive.reader import ArchiveReader
    from daicho.handlers.wiring.dependencies import AWS_DEPENDENCIES, Dependencies
    from daicho.handlers.wiring.invocation import Context, Handler, make_retry_budget
    from daicho.handlers.wiring.metrics import emit
    from daicho.plan import Ledger
    from daicho.rebuild.stack_jobs import StackJobs
    from daicho.runtime.settings import Settings
    from daicho.stream.shard_progress import EmulatedStream
    from daicho.tenants.deletion import TenantDeletionJob


def build(
    environ: Mapping[str, str],
    ledger: Ledger | None = None,
    dependencies: Dependencies = AWS_DEPENDENCIES,
) -> Handler:
    """Wire the function up."""
    settings = Settings.parse(environ, "FAILURE_BUCKET", "SETTLE_SECONDS", "SCAN_UNITS")
    threads, now = dependencies.parallelism, dependencies.now
    table = dependencies.table(settings.table_name, attempts=2, connections=threads).with_metering()
    failures = dependencies.bucket(settings.failure_bucket)
    objects = dependencies.bucket(settings.object_bucket) if settings.object_bucket else None
    deleting = TenantDeletionJob.build(settings, table, failures, objects, threads=threads, now=now)
    emulated = EmulatedStream() if settings.emulated_stream else None
    stream = emulated or dependencies.stream(settings.table_name)
    ledger = ledger or Ledger.load_newest(settings.lock_file)
    archived = settings.archive_bucket
    archive = ArchiveReader(dependencies.bucket(archived, attempts=2)) if archived else None
    stack_jobs = StackJobs.build(
        settings, table, stream, failures, ledger, archive, threads=threads, now=now
    )

    def handler(event: Mapping[str, Any], context: Context) -> dict[str, Any]:
        tenant, job, failure = event["tenant"], event["job"], str(event.get("failed") or "")
        if failure:
            (partial(deleting.fail_job, tenant) if tenant else stack_jobs.fail_job)(job, failure)
            return {"done": True, "wait": 0}
        budget = make_retry_budget(context, dependencies)
        if tenant:
            return deleting.run_step(tenant, job, budget).to_json()
        step = stack_jobs.run_step(job, budget, event.get("range"))
        emit({"JobsBlocked": int(step.blocked)})
        return step.to_json()

    return handler


__getattr__ = build_on_access(__name__, partial(build, os.environ))
