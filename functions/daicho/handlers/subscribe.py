"""Lambda of a subscriber: runs a function of the project for the events of its queue."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from daicho.runtime.start_up import build_on_access, pause_garbage_collection

with pause_garbage_collection():
    from daicho.declare.registry import Daicho
    from daicho.declare.subscribers import Subscriber
    from daicho.handlers.wiring.books import Books
    from daicho.handlers.wiring.dependencies import AWS_DEPENDENCIES, Dependencies
    from daicho.handlers.wiring.invocation import Context, Handler
    from daicho.handlers.wiring.subscriber_wiring import SubscriberRunner
    from daicho.plan import Ledger
    from daicho.release.older_writers import OlderWriters
    from daicho.runtime.metrics import MAINTENANCE_METRIC, emit_problems
    from daicho.runtime.settings import Settings
    from daicho.storage.event_queue import EventMessage
    from daicho.storage.item_cache import ItemCache


def build(
    environ: Mapping[str, str],
    ledger: Ledger | None = None,
    dependencies: Dependencies = AWS_DEPENDENCIES,
    subscriber: Subscriber | None = None,
) -> Handler:
    """Wire the function up. ``subscriber``: found in the domain files by default."""
    needed = ("SUBSCRIBER", "DIRTY_SHARDS", "OBJECT_BUCKET", "DEAD_LETTER_QUEUE")
    settings = Settings.parse(environ, *needed)
    if subscriber is None:
        daicho = Daicho.discover(import_module(settings.domain_package), settings.migration_package)
        ledger = daicho.check_locked(ledger or Ledger.load_newest(settings.lock_file))
        subscriber = daicho.subscribers[settings.subscriber]
    ledger = ledger or Ledger.load_newest(settings.lock_file)
    table = dependencies.table(settings.table_name)
    table = OlderWriters(table, ledger, dependencies.sleep).announce_writes(table)
    once = dependencies.table(settings.table_name, attempts=1)
    item_cache = ItemCache(dependencies.now)
    # The quota of stored items is checked at the API: a subscriber writes for the system.
    books = Books(settings, table, once, ledger, item_cache, dependencies, ())
    dead_letters = dependencies.event_queue(settings.dead_letter_queue)
    runner = SubscriberRunner(subscriber, table, books, item_cache, dead_letters, dependencies.now)

    def handler(event: Mapping[str, Any], context: Context) -> dict[str, Any]:
        messages = [EventMessage.parse(record) for record in event["Records"]]
        left, refused = runner.run(messages, context)
        emit_problems(MAINTENANCE_METRIC, {"EventsRefused": refused})
        # Lambda keeps the order of a group: all that follow a failed message are left too.
        return {"batchItemFailures": [{"itemIdentifier": receipt} for receipt in left]}

    return handler


__getattr__ = build_on_access(__name__, build)
