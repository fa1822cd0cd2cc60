"""Lambda `project`: updates derived items and aggregates from the table's stream."""

from __future__ import annotations

from collections.abc import Mapping

from daicho.runtime.start_up import build_on_access, pause_garbage_collection

with pause_garbage_collection():
    from daicho.handlers.wiring.dependencies import AWS_DEPENDENCIES, Dependencies
    from daicho.handlers.wiring.invocation import Handler
    from daicho.handlers.wiring.stream_consumer import stream_handler
    from daicho.plan import Ledger
    from daicho.runtime.metrics import emit
    from daicho.runtime.settings import Settings
    from daicho.stream.projector import Projector

S3_TIMEOUT_S = 5.0
"""The timeout of one attempt of a call to S3."""


def build(
    environ: Mapping[str, str],
    ledger: Ledger | None = None,
    dependencies: Dependencies = AWS_DEPENDENCIES,
) -> Handler:
    """Build the handler. ``dependencies`` makes the clients of AWS."""
    settings = Settings.parse(environ, "DIRTY_SHARDS", "FAILURE_BUCKET")
    projector = Projector(
        dependencies.table(settings.table_name, attempts=2, connections=dependencies.parallelism),
        # Both attempts of a call fit in the last seconds of an invocation, in which no call begins
        # (`END_RESERVE_S`).
        dependencies.bucket(settings.failure_bucket, attempts=2, timeout=S3_TIMEOUT_S),
        ledger or Ledger.load_newest(settings.lock_file),
        dirty_shards=settings.dirty_shards,
        threads=dependencies.parallelism,
        now=dependencies.now,
        emit_metrics=emit,
    )
    return stream_handler(projector.project, settings, dependencies)


__getattr__ = build_on_access(__name__, build)
