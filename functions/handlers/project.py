"""Lambda `project`: updates derived items and aggregates from the table's stream."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial

from daicho.plan import Ledger
from daicho.runtime.lazy_names import lazy_attributes
from daicho.runtime.settings import Settings
from daicho.stream.projector import Projector
from handlers.wiring.dependencies import AWS_DEPENDENCIES, Dependencies
from handlers.wiring.fault_injection import with_faults
from handlers.wiring.invocation import Handler
from handlers.wiring.metrics import emit
from handlers.wiring.stream_consumer import stream_handler

SECONDS_OF_S3 = 5.0


def build(
    environ: Mapping[str, str],
    ledger: Ledger | None = None,
    dependencies: Dependencies = AWS_DEPENDENCIES,
) -> Handler:
    """Wire the function up."""
    settings = Settings.parse(environ, "DIRTY_SHARDS", "FAILURE_BUCKET")
    projector = Projector(
        dependencies.table(settings.table_name, attempts=2, connections=dependencies.parallelism),
        # All tries of one call fit in the reserve of the invocation's time (`END_RESERVE_S`).
        dependencies.bucket(settings.failure_bucket, attempts=2, timeout=SECONDS_OF_S3),
        ledger or Ledger.load(),
        dirty_shards=settings.dirty_shards,
        threads=dependencies.parallelism,
        now=dependencies.now,
        emit_metrics=emit,
    )
    return stream_handler(projector.project, settings, dependencies)


__getattr__ = lazy_attributes(__name__, {"handler": partial(with_faults, build, os.environ)})
