"""The part of the stack that tests in memory need: environments, handlers, event source mappings.

The settings of the mappings are data, because a project has no template of this repository. A test
compares them with the synthesised template. Their event filters follow from the declarations.
"""

from __future__ import annotations

import datetime as dt
import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from daicho.handlers import archive, project, publish, redrive, rollup, sweep
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.handlers.wiring.invocation import Handler
from daicho.plan import Ledger
from daicho.plan.event_filters import archive_filters, project_filters
from daicho.plan.events import list_receivers
from daicho.testing.aws.event_source_mapping import EventSourceMapping
from daicho.testing.aws.mapping_settings import MappingSettings
from daicho.testing.aws.memory_events import MemoryQueue
from daicho.testing.aws.table_stream import TableStream

if TYPE_CHECKING:
    from daicho.declare.subscribers import Subscriber

TABLE, DIRTY_SHARDS = "daicho", 2
ARCHIVE_BUCKET, FAILURE_BUCKET, OBJECT_BUCKET = "archive", "failures", "objects"
BUCKETS = (ARCHIVE_BUCKET, FAILURE_BUCKET, OBJECT_BUCKET)
ENVIRONMENT: Mapping[str, str] = {
    "TABLE_NAME": TABLE,
    "STAGE": "prod",
    "DIRTY_SHARDS": str(DIRTY_SHARDS),
    "ARCHIVE_BUCKET": ARCHIVE_BUCKET,
    "FAILURE_BUCKET": FAILURE_BUCKET,
    "OBJECT_BUCKET": OBJECT_BUCKET,
    "PROJECT_FUNCTION": "project",
    "ARCHIVE_FUNCTION": "archive",
    "JOB_MACHINE": "jobs",
}
EVENT_QUEUE, DEAD_LETTERS = "events", "dead letters"
TIMEOUTS_UNTIL_VISIBLE = 6
"""After so many timeouts of a subscriber, an event that it received is visible again."""
NO_SUBSCRIBERS: Mapping[str, Subscriber] = {}
_BUILDERS: Mapping[str, Callable[..., Handler]] = {
    "project": project.build,
    "archive": archive.build,
    "publish": publish.build,
    "rollup": rollup.build,
    "redrive": redrive.build,
    "sweep": sweep.build,
}
_COMMON_SETTINGS = MappingSettings(
    tumbling_window=900,
    retries=300,
    maximum_age=22 * 3600,
    bisect=True,
    report_failures=True,
    starting_position="TRIM_HORIZON",
)
MAPPING_SETTINGS: Mapping[str, MappingSettings] = {
    "project": replace(_COMMON_SETTINGS, batch_size=1_000, batching_window=1),
    "archive": replace(_COMMON_SETTINGS, batch_size=10_000, batching_window=300),
}
"""The event source mapping of each consumer at stage prod, without its event filters."""


def build_handler(
    name: str,
    ledger: Ledger,
    dependencies: Dependencies,
    environment: Mapping[str, str] = ENVIRONMENT,
    subscribers: Mapping[str, Subscriber] = NO_SUBSCRIBERS,
) -> Handler:
    """The real handler of a function: project, archive, publish, rollup, redrive, sweep.

    That of a subscriber has its name.
    """
    environment = {**environment, **_build_event_environment(list_receivers(ledger.events))}
    if name not in subscribers:
        return _BUILDERS[name](environment, ledger, dependencies)
    from daicho.handlers import subscribe  # noqa: PLC0415  # it loads Pydantic

    environment["SUBSCRIBER"] = name
    return subscribe.build(environment, ledger, dependencies, subscribers[name])


def open_queues(
    now: Callable[[], dt.datetime], subscribers: Mapping[str, Subscriber]
) -> defaultdict[str, MemoryQueue]:
    """The queues of a deployment, by their URLs: those of subscribers have their names."""
    queues = defaultdict[str, MemoryQueue](lambda: MemoryQueue(now))
    for name, subscriber in subscribers.items():
        visibility = dt.timedelta(seconds=TIMEOUTS_UNTIL_VISIBLE * subscriber.timeout_s)
        queues[name] = MemoryQueue(now, visibility=visibility)
    return queues


def _build_event_environment(receivers: Sequence[str]) -> dict[str, str]:
    """What functions have besides where events are declared; a queue has its receiver's name."""
    if not receivers:
        return {}
    of_bus = {"EVENT_QUEUE": EVENT_QUEUE} if "" in receivers else {}
    named = {name: name for name in receivers if name}
    return {
        **of_bus,
        **({"SUBSCRIBER_QUEUES": json.dumps(named)} if named else {}),
        "DEAD_LETTER_QUEUE": DEAD_LETTERS,
        "EVENT_BUS": "bus",
        "AWS_LAMBDA_FUNCTION_NAME": "archive",
    }


def build_event_filters(ledger: Ledger) -> dict[str, tuple[str, ...]]:
    """The event filters of each consumer, as the stack computes them."""
    return {
        "project": tuple(project_filters(ledger.derived_types)),
        "archive": tuple(
            archive_filters(ledger.archived_types, emulated=False, published=tuple(ledger.events))
        ),
    }


def list_ready_shards(mappings: Mapping[str, EventSourceMapping]) -> list[tuple[str, str]]:
    """The shards that can be polled now, each with its consumer."""
    return [(name, shard) for name in mappings for shard in mappings[name].list_ready_shards()]


def create_mappings(
    ledger: Ledger,
    stream: TableStream,
    now: Callable[[], dt.datetime],
    put_failure: Callable[[str, bytes], None],
    retries: Mapping[str, int],
) -> dict[str, EventSourceMapping]:
    """The event source mapping of each consumer.

    There is no batching window: the caller decides when a shard is polled. ``retries``: by
    consumer, if they are not those of the stack. ``put_failure`` puts an object into the
    on-failure destination.
    """
    filters = build_event_filters(ledger)
    return {
        name: EventSourceMapping(
            replace(
                MAPPING_SETTINGS[name],
                batching_window=0,
                retries=retries.get(name, MAPPING_SETTINGS[name].retries),
                filters=filters[name],
                function_arn=f"arn:aws:lambda:us-east-1:000000000000:function:{name}",
                uuid=f"00000000-0000-4000-8000-{number:012}",
            ),
            stream,
            now,
            put_failure,
        )
        for number, name in enumerate(MAPPING_SETTINGS)
    }
