"""Lambda `release`: CloudFormation invokes it before all functions, and again before the API."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from daicho.runtime.start_up import build_on_access, pause_garbage_collection

with pause_garbage_collection():
    from daicho.handlers.wiring.custom_resource import Put, custom_resource_handler, put_response
    from daicho.handlers.wiring.dependencies import AWS_DEPENDENCIES, Dependencies
    from daicho.handlers.wiring.invocation import Context, Handler, make_retry_budget
    from daicho.plan import Ledger
    from daicho.rebuild.requests import finish_deployment
    from daicho.release.release import Release
    from daicho.runtime.retry import retry
    from daicho.runtime.settings import Settings
    from daicho.stream.heartbeat_watcher import HeartbeatWatcher
    from daicho.stream.shard_progress import EmulatedStream


def build(
    environ: Mapping[str, str],
    ledger: Ledger | None = None,
    dependencies: Dependencies = AWS_DEPENDENCIES,
    put: Put = put_response,
) -> Handler:
    """Wire the function up. ``put`` sends the answer to CloudFormation."""

    def work(event: Mapping[str, Any], context: Context) -> dict[str, str]:
        settings = Settings.parse(environ)  # here, so that a wrong setting is answered too
        properties, now, name = event["ResourceProperties"], dependencies.now, settings.table_name
        emulated = EmulatedStream() if settings.emulated_stream else None
        table, stream = dependencies.table(name), emulated or dependencies.stream(name)
        deployed = ledger or Ledger.load_newest(settings.lock_file)
        watcher = HeartbeatWatcher(table, stream, now=now)
        written = replace(deployed, written=json.loads(properties["Written"]))
        is_going_back = partial(dependencies.is_going_back, event["StackId"])
        spread, retirement = settings.check_filter_spread(), settings.retirement_seconds
        release = Release(table, watcher, written, spread, is_going_back, retirement, now)
        step, source = properties["Step"], properties["Source"]
        budget = make_retry_budget(context, dependencies)
        if step != "finish":
            return {"Source": release.run_step(step, event["RequestId"], source, budget)}
        machine, rate = dependencies.machine(properties["Machine"]), float(properties["Rate"])
        retry(lambda: finish_deployment(table, machine, deployed, source, now(), rate), budget)
        return {"Source": source}

    return custom_resource_handler(work, put)


__getattr__ = build_on_access(__name__, build)
