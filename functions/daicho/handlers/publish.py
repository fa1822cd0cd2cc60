"""Lambda `publish`: puts the events of the queue on the bus, those of an item in their order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from daicho.runtime.start_up import build_on_access, pause_garbage_collection

with pause_garbage_collection():
    from daicho.handlers.wiring.dependencies import AWS_DEPENDENCIES, Dependencies
    from daicho.handlers.wiring.invocation import Context, Handler, make_retry_budget
    from daicho.plan import Ledger
    from daicho.runtime.metrics import MAINTENANCE_METRIC, emit_problems
    from daicho.runtime.settings import Settings
    from daicho.storage.event_queue import EventMessage
    from daicho.stream.published_events import send_in_order


def build(
    environ: Mapping[str, str],
    _ledger: Ledger | None = None,
    dependencies: Dependencies = AWS_DEPENDENCIES,
) -> Handler:
    """Wire the function up."""
    settings = Settings.parse(environ, "EVENT_BUS", "DEAD_LETTER_QUEUE")
    dead_letters = dependencies.event_queue(settings.dead_letter_queue)
    bus = dependencies.event_bus(settings.event_bus, dead_letters)

    def handler(event: Mapping[str, Any], context: Context) -> dict[str, Any]:
        messages = [EventMessage.parse(record) for record in event["Records"]]
        left = send_in_order(messages, bus.put, make_retry_budget(context, dependencies))
        emit_problems(MAINTENANCE_METRIC, {"EventsRefused": bus.take_refused()})
        # Lambda keeps the order of a group: all that follow a failed message are in `left` too.
        return {"batchItemFailures": [{"itemIdentifier": each.receipt} for each in left]}

    return handler


__getattr__ = build_on_access(__name__, build)
