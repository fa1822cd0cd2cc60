"""Lambda `rollup`: once a minute, brings the totals of tallies that changed up to their slots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from daicho.plan import Ledger
from daicho.runtime.settings import Settings
from daicho.tally.rollup import Rollup
from handlers.wiring.dependencies import AWS, Outside
from handlers.wiring.invocation import Context, Handler, patience_of
from handlers.wiring.lazy_handler import on_demand
from handlers.wiring.metrics import emit


def build(
    environ: Mapping[str, str], ledger: Ledger | None = None, outside: Outside = AWS
) -> Handler:
    """Wire the function up."""
    settings = Settings.parse(environ, "DIRTY_SHARDS")
    known, shards, threads = ledger or Ledger.load(), settings.dirty_shards, outside.at_once
    table = outside.table(settings.table_name, connections=threads).query_metered()
    rollup = Rollup(table, known, dirty_shards=shards, threads=threads, now=outside.now)

    def handler(_event: Mapping[str, Any], context: Context) -> dict[str, Any]:
        report = rollup.run(patience_of(context, outside))
        emit(report.counts(), {"RollupLag": report.age_of_oldest_mark(outside.now())})
        return dict(vars(report))

    return handler


__getattr__ = on_demand(build)
