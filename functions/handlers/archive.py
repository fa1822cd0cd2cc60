"""Lambda `archive`: puts what DynamoDB's TTL process removed into the bucket."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from typing import Any

from daicho.archive.archiver import Archiver
from daicho.plan import Ledger
from daicho.settings import Settings
from daicho.stream.records import Batch
from handlers.consumer import Context, Handler, answer, patience_of
from handlers.outside import AWS, Outside


def build(
    environ: Mapping[str, str], ledger: Ledger | None = None, outside: Outside = AWS
) -> Handler:
    """Wire the function up."""
    settings = Settings.parse(environ, "ARCHIVE_BUCKET")
    table = outside.table(settings.table_name, attempts=2)
    bucket = outside.bucket(settings.archive_bucket, attempts=2)
    archiver = Archiver(table, bucket, ledger or Ledger.load(), now=outside.now)

    def handler(event: Mapping[str, Any], context: Context) -> dict[str, Any]:
        batch = Batch.parse(event, emulated=settings.emulated_stream)
        lowest = archiver.archive(batch, patience_of(context, outside))
        return answer(lowest, emulated=settings.emulated_stream)

    return handler


@cache
def __getattr__(name: str) -> Handler:
    """Build ``handler`` when it is asked for: Lambda does so at its init, an import does not."""
    if name != "handler":
        raise AttributeError(name)
    return build(os.environ)
