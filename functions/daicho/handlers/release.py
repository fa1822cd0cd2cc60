"""Lambda `release`: CloudFormation invokes it before all functions, and again before the API."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from daicho.handlers.wiring.custom_resource import Put, custom_resource_handler, put_response
from daicho.handlers.wiring.dependencies import AWS_DEPENDENCIES, Dependencies
from daicho.handlers.wiring.invocation import Context, Handler, make_retry_budget
from daicho.plan import Ledger
from daicho.release.release import Release
from daicho.runtime.lazy_names import lazy_attributes
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
    settings = Settings.parse(environ)
    table = dependencies.table(settings.table_name)
    emulated = EmulatedStream() if settings.emulated_stream else None
    stream = emulated or dependencies.stream(settings.table_name)
    watcher = HeartbeatWatcher(table, stream, now=dependencies.now)
    deployed = ledger or Ledger.load(settings.lock_file)

    def work(event: Mapping[str, Any], context: Context) -> None:
        properties = event["ResourceProperties"]
        released = replace(deployed, written=json.loads(properties["Written"]))
        release = Release(table, watcher, released, settings.filter_spread_seconds)
        budget = make_retry_budget(context, dependencies)
        release.run_step(properties["Step"], event["RequestId"], budget)

    return custom_resource_handler(work, put)


__getattr__ = lazy_attributes(__name__, {"handler": partial(build, os.environ)})
