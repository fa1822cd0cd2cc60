"""Lambda `redrive`: applies what was quarantined or discarded, when somebody asks for it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache

from daicho.archive.rejoining import Rejoiner
from daicho.plan import Ledger
from daicho.settings import Settings
from daicho.stream.redrive import Redrive
from daicho.stream.report import Asked
from handlers.consumer import Handler, patience_of
from handlers.outside import AWS, Outside


def build(
    environ: Mapping[str, str], ledger: Ledger | None = None, outside: Outside = AWS
) -> Handler:
    """Wire the function up."""
    settings = Settings.parse(environ, "DIRTY_SHARDS", "FAILURE_BUCKET", "PROJECT_FUNCTION")
    ledger = ledger or Ledger.load()
    table = outside.table(settings.table_name, connections=outside.at_once)
    archive = outside.bucket(settings.archive_bucket) if settings.archive_bucket else None
    redrive = Redrive(
        table,
        outside.bucket(settings.failure_bucket),
        ledger,
        projector=settings.project_function,
        dirty_shards=settings.dirty_shards,
        emulated=settings.emulated_stream,
        threads=outside.at_once,
        now=outside.now,
        archiver=settings.archive_function,
        archive=Rejoiner(table, archive, ledger, now=outside.now) if archive else None,
    )
    return lambda event, context: redrive.run(
        Asked.parse(event), patience_of(context, outside)
    ).to_json()


@cache
def __getattr__(name: str) -> Handler:
    """Build ``handler`` when it is asked for: Lambda does so at its init, an import does not."""
    if name != "handler":
        raise AttributeError(name)
    return build(os.environ)
