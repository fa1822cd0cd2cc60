"""The consumers of the table's stream: functions, and the mappings that invoke them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from daicho.cdk.functions import grants
from daicho.cdk.functions.events import EventQueue, allow_sending
from daicho.cdk.functions.grants import Grants
from daicho.cdk.functions.python_function import PythonFunction, SharedResources
from daicho.plan import Ledger
from daicho.plan.event_filters import archive_filters, project_filters

# EXACTNESS in numbers. An invocation retries failing I/O itself for up to its timeout, so 300
# retries outlast a day; a record is discarded, with its payload, before the stream's 24 hours
# would trim it without one.
TIMEOUT = Duration.seconds(300)
RETRIES = 300
MAXIMUM_AGE = Duration.hours(22)

# Only a mapping with a tumbling window tells the function its shard. The window has no
# other use here, and its end costs an invocation for each shard: so it is the longest possible.
TUMBLING_WINDOW = Duration.minutes(15)


@dataclass(frozen=True)
class BatchLimits:
    """The most records of a batch, and how long a batch may wait to fill."""

    records: int
    window: Duration


class StreamConsumer(Construct):
    """A function that receives the stream's records from the oldest one on.

    A stream shard allows two consumers: the projector and the archive. One batch at a time for each
    shard: the fences depend on the order of a shard.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        name: str,
        shared: SharedResources,
        permissions: Grants,
        environment: Mapping[str, str],
        patterns: Sequence[str],
        batches: BatchLimits,
    ) -> None:
        """Create the function ``name`` and its mapping.

        ``patterns`` are the mapping's event filters: a record that matches none is dropped.
        """
        super().__init__(scope, id)
        self.python = PythonFunction(
            self,
            name.capitalize(),
            name=name,
            shared=shared,
            permissions=permissions,
            timeout=TIMEOUT,
            environment={
                **environment,
                "EMULATED_STREAM": str(shared.settings.is_local).lower(),
            },
        )
        self.mapping = self._create_mapping(shared, patterns, batches)

    def _create_mapping(
        self, shared: SharedResources, patterns: Sequence[str], batches: BatchLimits
    ) -> lambda_.CfnEventSourceMapping:
        return lambda_.CfnEventSourceMapping(
            self,
            "Mapping",
            function_name=self.python.function.function_name,
            event_source_arn=shared.stream,
            starting_position="TRIM_HORIZON",
            filter_criteria=lambda_.CfnEventSourceMapping.FilterCriteriaProperty(
                filters=[
                    lambda_.CfnEventSourceMapping.FilterProperty(pattern=pattern)
                    for pattern in patterns
                ]
            ),
            batch_size=batches.records,
            maximum_batching_window_in_seconds=int(batches.window.to_seconds()),
            tumbling_window_in_seconds=int(TUMBLING_WINDOW.to_seconds()),
            parallelization_factor=1,
            bisect_batch_on_function_error=True,
            function_response_types=["ReportBatchItemFailures"],
            maximum_retry_attempts=RETRIES,
            maximum_record_age_in_seconds=int(MAXIMUM_AGE.to_seconds()),
            destination_config=lambda_.CfnEventSourceMapping.DestinationConfigProperty(
                on_failure=lambda_.CfnEventSourceMapping.OnFailureProperty(
                    destination=shared.buckets.failures.bucket_arn
                )
            ),
        )


# A batch is folded, so a large one is cheap: the writes grow with the groups, not the records.
# 1,000 records are about 2 MB of the 6 MB that an invocation takes, and even 20 writes for each
# stay far within the timeout. While one batch is processed the next one fills by itself; the
# stage's batching window makes the batches of a quiet table larger, and its searches older.
PROJECTOR_BATCH = 1000


def build_projector(scope: Construct, *, ledger: Ledger, shared: SharedResources) -> StreamConsumer:
    """The stream consumer that receives the records of all entities that derive something."""
    settings = shared.settings
    return StreamConsumer(
        scope,
        "Projector",
        name="project",
        shared=shared,
        permissions=grants.PROJECT,
        environment={
            "DIRTY_SHARDS": str(settings.dirty_shards),
            **({"FAULTS": str(settings.faults)} if settings.faults else {}),
        },
        patterns=project_filters(ledger.derived_types),
        batches=BatchLimits(PROJECTOR_BATCH, Duration.seconds(settings.project_window_seconds)),
    )


# Each batch becomes one object for each entity, and objects are read whole. So a batch is as large
# as Lambda allows, and may wait to fill as long as the stage allows: nobody waits for an archive.
ARCHIVER_BATCH = 10_000


# Somebody waits for an event.
EVENT_WINDOW_S = 1


def build_archiver(
    scope: Construct, *, ledger: Ledger, shared: SharedResources, events: Sequence[EventQueue]
) -> StreamConsumer:
    """The stream consumer that receives what TTL deletes of the archived entities.

    ``events``: where it sends the events of entities that publish, whose changes it receives too.
    """
    settings, published = shared.settings, tuple(ledger.events)
    window = settings.archive_window_seconds
    consumer = StreamConsumer(
        scope,
        "Archive",
        name="archive",
        shared=shared,
        permissions=grants.ARCHIVE,
        environment={"FAILURE_BUCKET": shared.buckets.failures.bucket_name} if events else {},
        patterns=archive_filters(
            ledger.archived_types, emulated=settings.is_local, published=published
        ),
        batches=BatchLimits(ARCHIVER_BATCH, Duration.seconds(EVENT_WINDOW_S if events else window)),
    )
    allow_sending(consumer.python, events)
    return consumer
