"""Lambda `project`: keeps derived items and aggregates up with the table's stream."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from daicho.plan import Ledger
from daicho.settings import Settings
from daicho.stream.project import Projector
from daicho.stream.records import Batch
from handlers.consumer import Context, Handler, answer, patience_of
from handlers.faulty import faulty
from handlers.outside import AWS, Outside


def build(
    environ: Mapping[str, str], ledger: Ledger | None = None, outside: Outside = AWS
) -> Handler:
    """Wire the function up."""
    settings = Settings.parse(environ, "DIRTY_SHARDS")
    table = outside.table(settings.table_name, attempts=2, connections=outside.at_once)
    known, shards, threads = ledger or Ledger.load(), settings.dirty_shards, outside.at_once
    projector = Projector(table, known, dirty_shards=shards, threads=threads, now=outside.now)

    def handler(event: Mapping[str, Any], context: Context) -> dict[str, Any]:
        batch = Batch.parse(event, emulated=settings.emulated_stream)
        lowest = projector.project(batch, patience_of(context, outside))
        return answer(lowest, emulated=settings.emulated_stream)

    return handler


@cache
def __getattr__(name: str) -> Handler:
    """Build ``handler`` when it is asked for: Lambda does so at its init, an import does not."""
    if name != "handler":
        raise AttributeError(name)
    return faulty(build)
