"""Lambda `redrive`: applies what was quarantined or discarded, when somebody asks for it."""

from __future__ import annotations

from collections.abc import Mapping

from daicho.archive.rearchiver import Rearchiver
from daicho.plan import Ledger
from daicho.redrive.redrive import Redrive
from daicho.redrive.report import RedriveRequest
from daicho.runtime.settings import Settings
from handlers.wiring.dependencies import AWS, Outside
from handlers.wiring.invocation import Handler, patience_of
from handlers.wiring.lazy_handler import on_demand

BUCKETS = ("FAILURE_BUCKET", "ARCHIVE_BUCKET")
FUNCTIONS = ("PROJECT_FUNCTION", "ARCHIVE_FUNCTION")


def build(
    environ: Mapping[str, str], ledger: Ledger | None = None, outside: Outside = AWS
) -> Handler:
    """Wire the function up."""
    settings = Settings.parse(environ, "DIRTY_SHARDS", *BUCKETS, *FUNCTIONS)
    ledger = ledger or Ledger.load()
    table = outside.table(settings.table_name, connections=outside.at_once)
    rejoiner = Rearchiver(table, outside.bucket(settings.archive_bucket), ledger, now=outside.now)
    failures = outside.bucket(settings.failure_bucket)
    redrive = Redrive.build(
        settings, ledger, table, failures, rejoiner, threads=outside.at_once, now=outside.now
    )
    return lambda asked, context: redrive.run(
        RedriveRequest.parse(asked), patience_of(context, outside)
    ).to_json()


__getattr__ = on_demand(build)
