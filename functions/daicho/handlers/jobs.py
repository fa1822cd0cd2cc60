"""Lambda `jobs`: a step of a job; the state machine calls it until the job is done."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import Any

from daicho.handlers.wiring.dependencies import AWS_DEPENDENCIES, Dependencies
from daicho.handlers.wiring.invocation import Context, Handler, make_retry_budget
from daicho.runtime.lazy_names import lazy_attributes
from daicho.runtime.settings import Settings
from daicho.tenants.deletion import TenantDeletionJob


def build(environ: Mapping[str, str], dependencies: Dependencies = AWS_DEPENDENCIES) -> Handler:
    """Wire the function up."""
    settings = Settings.parse(environ, "FAILURE_BUCKET", "SETTLE_SECONDS", "SCAN_UNITS")
    table = dependencies.table(
        settings.table_name, attempts=2, connections=dependencies.parallelism
    ).with_metering()
    failures = dependencies.bucket(settings.failure_bucket)
    objects = dependencies.bucket(settings.object_bucket) if settings.object_bucket else None
    threads, now = dependencies.parallelism, dependencies.now
    deleting = TenantDeletionJob.build(settings, table, failures, objects, threads=threads, now=now)

    def handler(event: Mapping[str, Any], context: Context) -> dict[str, Any]:
        if "failed" in event:
            deleting.fail_job(event["tenant"], event["job"], str(event["failed"]))
            return {"done": True}
        retry_budget = make_retry_budget(context, dependencies)
        return deleting.run_step(event["tenant"], event["job"], retry_budget).to_json()

    return handler


__getattr__ = lazy_attributes(__name__, {"handler": partial(build, os.environ)})
