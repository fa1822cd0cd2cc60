"""Lambda `project`: keeps derived items and aggregates up with the table's stream."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from daicho.plan import Ledger
from daicho.settings import Settings
from daicho.stream.project import Projector
from handlers.consumer import Handler, consuming
from handlers.faulty import faulty
from handlers.outside import AWS, Outside
from handlers.telemetry import emit
from handlers.wiring import on_demand

SECONDS_OF_S3 = 5.0


def build(
    environ: Mapping[str, str], ledger: Ledger | None = None, outside: Outside = AWS
) -> Handler:
    """Wire the function up."""
    settings = Settings.parse(environ, "DIRTY_SHARDS", "FAILURE_BUCKET")
    projector = Projector(
        outside.table(settings.table_name, attempts=2, connections=outside.at_once),
        # Within the reserve of the invocation's time: one call's whole patience (`RESERVE`).
        outside.bucket(settings.failure_bucket, attempts=2, timeout=SECONDS_OF_S3),
        ledger or Ledger.load(),
        dirty_shards=settings.dirty_shards,
        threads=outside.at_once,
        now=outside.now,
        tell=emit,
    )
    return consuming(projector.project, settings, outside)


__getattr__ = on_demand(partial(faulty, build))
