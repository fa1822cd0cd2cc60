"""Lambda `archive`: puts items that DynamoDB's TTL process removed into the bucket.

It also sends the events that a batch publishes to their queue, if any are declared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from daicho.runtime.start_up import build_on_access, pause_garbage_collection

with pause_garbage_collection():
    from daicho.archive.archiver import Archiver
    from daicho.handlers.wiring.dependencies import AWS_DEPENDENCIES, Dependencies
    from daicho.handlers.wiring.invocation import Handler
    from daicho.handlers.wiring.stream_consumer import stream_handler
    from daicho.plan import Ledger
    from daicho.runtime.settings import Settings


def build(
    environ: Mapping[str, str],
    ledger: Ledger | None = None,
    dependencies: Dependencies = AWS_DEPENDENCIES,
) -> Handler:
    """Wire the function up."""
    settings = Settings.parse(environ, "ARCHIVE_BUCKET")
    ledger = ledger or Ledger.load_newest(settings.lock_file)
    table = dependencies.table(settings.table_name, attempts=2)
    bucket = dependencies.bucket(settings.archive_bucket, attempts=2)
    archiver = Archiver(table, bucket, ledger, now=dependencies.now)
    if not settings.event_queues:
        return stream_handler(archiver.archive, settings, dependencies)
    # Loaded only where something is published (ADR 0158).
    from daicho.handlers.wiring.event_wiring import (  # noqa: PLC0415
        build_sender,
        publish_after,
        set_aside,
    )

    failures = dependencies.bucket(settings.failure_bucket, attempts=2)
    keep = partial(set_aside, failures, settings.aws_lambda_function_name)
    archiver = replace(archiver, set_aside=keep)
    sender = build_sender(settings, ledger, dependencies, keep)
    return stream_handler(partial(publish_after, archiver, sender), settings, dependencies)


__getattr__ = build_on_access(__name__, build)
