"""Lambda `jobs`: a step of a job; the state machine calls it until the job is done."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from daicho.runtime.start_up import build_on_access, pause_garbage_collection

with pause_garbage_collection():
    from daicho.handlers.wiring.dependencies import AWS_DEPENDENCIES, Dependencies
    from daicho.handlers.wiring.invocation import Context, Handler, make_retry_budget
    from daicho.handlers.wiring.job_kinds import JobKinds
    from daicho.plan import Ledger
    from daicho.runtime.metrics import MAINTENANCE_METRIC, emit, emit_problems
    from daicho.runtime.settings import Settings


def build(
    environ: Mapping[str, str],
    ledger: Ledger | None = None,
    dependencies: Dependencies = AWS_DEPENDENCIES,
) -> Handler:
    """Wire the function up."""
    settings = Settings.parse(environ, "FAILURE_BUCKET", "SETTLE_SECONDS", "SCAN_UNITS")
    threads = dependencies.parallelism
    table = dependencies.table(settings.table_name, attempts=2, connections=threads).with_metering()
    jobs = JobKinds(settings, table, dependencies, ledger)

    def handler(event: Mapping[str, Any], context: Context) -> dict[str, Any]:
        tenant, job, failure = event["tenant"], event["job"], str(event.get("failed") or "")
        if failure:
            of_tenant = jobs.choose_of_tenant(job) if tenant else None
            fail = (
                partial(of_tenant.fail_job, tenant)
                if of_tenant
                else jobs.choose_of_stack(job).fail_job
            )
            fail(job, failure)
            return {"done": True, "wait": 0}
        budget = make_retry_budget(context, dependencies)
        if tenant:
            return jobs.choose_of_tenant(job).run_step(tenant, job, budget).to_json()
        step = jobs.choose_of_stack(job).run_step(job, budget)
        emit(step.metrics)
        emit_problems(MAINTENANCE_METRIC, {"JobsBlocked": int(step.blocked)})
        return step.to_json()

    return handler


__getattr__ = build_on_access(__name__, build)
