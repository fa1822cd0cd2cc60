"""Lambda `forget`: each hour, goes on with what is due of tenants that the archive forgets."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from daicho.archive.forget_schedule import ForgetScheduler
from daicho.runtime.settings import Settings
from handlers.wiring.dependencies import AWS, Outside
from handlers.wiring.invocation import Context, Handler, patience_of
from handlers.wiring.lazy_handler import on_demand
from handlers.wiring.metrics import emit


def build(environ: Mapping[str, str], outside: Outside = AWS) -> Handler:
    """Wire the function up."""
    settings = Settings.parse(environ, "ARCHIVE_BUCKET")
    table, bucket = outside.table(settings.table_name), outside.bucket(settings.archive_bucket)
    due = ForgetScheduler(table, bucket, now=outside.now)
    log = logging.getLogger(__name__)

    def handler(_event: Mapping[str, Any], context: Context) -> dict[str, Any]:
        report = due.run(patience_of(context, outside))
        emit(report.counted, {"ForgettingOverdue": report.overdue})
        if report.failed or report.broken:
            log.error("not forgotten: %s", {**report.failed, **report.broken})
        return report.to_json()

    return handler


__getattr__ = on_demand(build)
