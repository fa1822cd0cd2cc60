"""Lambda `jobs`: a step of a job; the state machine calls it until it says that it is done."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from typing import Any

from daicho.deletion.deleting import Deleting
from daicho.jobs import Jobs
from daicho.pace import Pace
from daicho.settings import Settings
from handlers.consumer import Context, Handler, patience_of
from handlers.outside import AWS, Outside

WRITES_A_SECOND = 1_000


def build(environ: Mapping[str, str], outside: Outside = AWS) -> Handler:
    """Wire the function up."""
    settings = Settings.parse(environ, "FAILURE_BUCKET", "SETTLE_SECONDS", "SCAN_UNITS")
    table = outside.table(settings.table_name, attempts=2, connections=outside.at_once).metered()
    deleting = Deleting(
        table,
        outside.bucket(settings.failure_bucket),
        outside.bucket(settings.object_bucket) if settings.object_bucket else None,
        Jobs(table, outside.now),
        outside.now,
        settle=settings.settle_seconds,
        at_once=min(4, outside.at_once),
        read=Pace(settings.scan_units, sleep=outside.sleep),
        written=Pace(WRITES_A_SECOND, sleep=outside.sleep),
    )

    def handler(asked: Mapping[str, Any], context: Context) -> dict[str, Any]:
        if "failed" in asked:
            deleting.fail(asked["tenant"], asked["job"], str(asked["failed"]))
            return {"done": True}
        patience = patience_of(context, outside)
        return deleting.step(asked["tenant"], asked["job"], patience).to_json()

    return handler


@cache
def __getattr__(name: str) -> Handler:
    """Build ``handler`` when it is asked for: Lambda does so at its init, an import does not."""
    if name != "handler":
        raise AttributeError(name)
    return build(os.environ)
