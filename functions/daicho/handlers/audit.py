"""Lambda `audit`: continues the day's verification of the archive."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from daicho.runtime.start_up import build_on_access, pause_garbage_collection

with pause_garbage_collection():
    from daicho.archive.audit import Auditor
    from daicho.handlers.wiring.dependencies import AWS_DEPENDENCIES, Dependencies
    from daicho.handlers.wiring.invocation import Context, Handler, make_retry_budget
    from daicho.plan import Ledger
    from daicho.runtime.metrics import ARCHIVE_METRIC, emit, emit_problems
    from daicho.runtime.settings import Settings


def build(
    environ: Mapping[str, str],
    ledger: Ledger | None = None,
    dependencies: Dependencies = AWS_DEPENDENCIES,
) -> Handler:
    """Wire the function up."""
    settings = Settings.parse(environ, "ARCHIVE_BUCKET")
    table = dependencies.table(settings.table_name)
    bucket = dependencies.bucket(settings.archive_bucket)
    entities = (ledger or Ledger.load_newest(settings.lock_file)).archived_types
    auditor = Auditor(table, bucket, entities, now=dependencies.now)
    log = logging.getLogger(__name__)

    def handler(event: Mapping[str, Any], context: Context) -> dict[str, Any]:
        retry_budget = make_retry_budget(context, dependencies)
        report = auditor.run(retry_budget, again=event.get("again") is True)
        emit(report.counted)
        emit_problems(ARCHIVE_METRIC, report.problems)
        summary = report.to_json()
        if report.report.findings:
            log.error("the archive does not add up: %s", summary["report"])
        return summary

    return handler


__getattr__ = build_on_access(__name__, build)
