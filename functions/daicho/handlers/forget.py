"""Lambda `forget`: each hour, continues the due removals of tenants from the archive."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from daicho.runtime.start_up import build_on_access, pause_garbage_collection

with pause_garbage_collection():
    from daicho.archive.forgetter import Forgetter
    from daicho.handlers.wiring.dependencies import AWS_DEPENDENCIES, Dependencies
    from daicho.handlers.wiring.invocation import Context, Handler, make_retry_budget
    from daicho.runtime.metrics import ARCHIVE_METRIC, emit, emit_problems
    from daicho.runtime.settings import Settings


def build(environ: Mapping[str, str], dependencies: Dependencies = AWS_DEPENDENCIES) -> Handler:
    """Wire the function up."""
    settings = Settings.parse(environ, "ARCHIVE_BUCKET")
    table, bucket = (
        dependencies.table(settings.table_name),
        dependencies.bucket(settings.archive_bucket),
    )
    due = Forgetter(table, bucket, now=dependencies.now)
    log = logging.getLogger(__name__)

    def handler(_event: Mapping[str, Any], context: Context) -> dict[str, Any]:
        report = due.run(make_retry_budget(context, dependencies))
        emit(report.counted)
        emit_problems(ARCHIVE_METRIC, report.problems)
        if report.failed or report.broken:
            log.error("not forgotten: %s", {**report.failed, **report.broken})
        return report.to_json()

    return handler


__getattr__ = build_on_access(__name__, build)
