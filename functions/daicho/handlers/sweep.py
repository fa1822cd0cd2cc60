"""Lambda `sweep`: every few minutes, removes the remains of requests that ended half-way."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache, partial
from typing import Any

from daicho.runtime.start_up import build_on_access, pause_garbage_collection

with pause_garbage_collection():
    from daicho.handlers.wiring.dependencies import AWS_DEPENDENCIES, Dependencies
    from daicho.handlers.wiring.invocation import Context, Handler, make_retry_budget
    from daicho.handlers.wiring.metrics import emit
    from daicho.runtime.settings import Settings
    from daicho.sweep import Sweep


def build(environ: Mapping[str, str], dependencies: Dependencies = AWS_DEPENDENCIES) -> Handler:
    """Wire the function up."""
    settings = Settings.parse(environ, "OBJECT_BUCKET")
    table = dependencies.table(settings.table_name)
    bucket = cache(lambda: dependencies.bucket(settings.object_bucket))
    sweep = Sweep(table, bucket, dependencies.now)

    def handler(_event: Mapping[str, Any], context: Context) -> dict[str, Any]:
        report = vars(sweep.run(make_retry_budget(context, dependencies)))
        emit({f"Sweep{name.capitalize()}": count for name, count in report.items()})
        return dict(report)

    return handler


__getattr__ = build_on_access(__name__, partial(build, os.environ))
