"""Lambda `redrive`: applies what was quarantined or discarded, when somebody asks for it."""

from __future__ import annotations

from collections.abc import Mapping

from daicho.archive.rejoining import Rejoiner
from daicho.plan import Ledger
from daicho.settings import Settings
from daicho.stream.redrive import Redrive
from daicho.stream.report import Asked
from handlers.consumer import Handler, patience_of
from handlers.outside import AWS, Outside
from handlers.wiring import on_demand

BUCKETS = ("FAILURE_BUCKET", "ARCHIVE_BUCKET")
FUNCTIONS = ("PROJECT_FUNCTION", "ARCHIVE_FUNCTION")


def build(
    environ: Mapping[str, str], ledger: Ledger | None = None, outside: Outside = AWS
) -> Handler:
    """Wire the function up."""
    settings = Settings.parse(environ, "DIRTY_SHARDS", *BUCKETS, *FUNCTIONS)
    ledger = ledger or Ledger.load()
    table = outside.table(settings.table_name, connections=outside.at_once)
    rejoiner = Rejoiner(table, outside.bucket(settings.archive_bucket), ledger, now=outside.now)
    failures = outside.bucket(settings.failure_bucket)
    redrive = Redrive.of(
        settings, ledger, table, failures, rejoiner, threads=outside.at_once, now=outside.now
    )
    return lambda asked, context: redrive.run(
        Asked.parse(asked), patience_of(context, outside)
    ).to_json()


__getattr__ = on_demand(build)
