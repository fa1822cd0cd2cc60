"""Lambda `rollup`: once a minute, brings the totals of tallies that changed up to their slots."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from typing import Any

from daicho.plan import Ledger
from daicho.settings import Settings
from daicho.table import open_table
from daicho.tally.rollup import Rollup
from handlers.consumer import Context, Handler, patience_of
from handlers.telemetry import emit

TALLIES_AT_ONCE = 8


def build(environ: Mapping[str, str], ledger: Ledger | None = None) -> Handler:
    """Wire the function up."""
    settings = Settings.parse(environ, "DIRTY_SHARDS")
    table = open_table(settings.table_name, connections=TALLIES_AT_ONCE)
    shards, threads = settings.dirty_shards, TALLIES_AT_ONCE
    known = Ledger.load() if ledger is None else ledger
    rollup = Rollup(table, known, dirty_shards=shards, threads=threads)

    def handler(_event: Mapping[str, Any], context: Context) -> dict[str, Any]:
        began = dt.datetime.now(dt.UTC)
        report = rollup.run(patience_of(context))
        metrics = {
            "RollupLag": report.age_of_oldest_mark(began),
            "TalliesRolledUp": report.rolled,
            "TalliesFailed": report.failed,
            "SlotsRead": report.slots_read,
        }
        emit(metrics, seconds=frozenset({"RollupLag"}))
        return asdict(report)

    return handler


@cache
def __getattr__(name: str) -> Handler:
    """Build ``handler`` when it is asked for: Lambda does so at its init, an import does not."""
    if name != "handler":
        raise AttributeError(name)
    return build(os.environ)
