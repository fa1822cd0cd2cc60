"""Lambda `redrive`: applies records that were quarantined or discarded, on request."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial

from daicho.archive.rearchiver import Rearchiver
from daicho.plan import Ledger
from daicho.redrive.redrive import Redrive
from daicho.redrive.report import RedriveRequest
from daicho.runtime.lazy_names import lazy_attributes
from daicho.runtime.settings import Settings
from handlers.wiring.dependencies import AWS_DEPENDENCIES, Dependencies
from handlers.wiring.invocation import Handler, make_retry_budget

BUCKETS = ("FAILURE_BUCKET", "ARCHIVE_BUCKET")
FUNCTIONS = ("PROJECT_FUNCTION", "ARCHIVE_FUNCTION")


def build(
    environ: Mapping[str, str],
    ledger: Ledger | None = None,
    outside: Dependencies = AWS_DEPENDENCIES,
) -> Handler:
    """Wire the function up."""
    settings = Settings.parse(environ, "DIRTY_SHARDS", *BUCKETS, *FUNCTIONS)
    ledger = ledger or Ledger.load()
    table = outside.table(settings.table_name, connections=outside.parallelism)
    rejoiner = Rearchiver(table, outside.bucket(settings.archive_bucket), ledger, now=outside.now)
    failures = outside.bucket(settings.failure_bucket)
    redrive = Redrive.build(
        settings, ledger, table, failures, rejoiner, threads=outside.parallelism, now=outside.now
    )
    return lambda event, context: redrive.run(
        RedriveRequest.parse(event), make_retry_budget(context, outside)
    ).to_json()


__getattr__ = lazy_attributes(__name__, {"handler": partial(build, os.environ)})
