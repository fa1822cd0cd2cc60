"""A consumer of the table's stream: the function, and the event source mapping that invokes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from daicho.cdk.functions.grants import Grants
from daicho.cdk.functions.python_function import PythonFunction, SharedResources

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
        lambda_.CfnEventSourceMapping(
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
                    destination=shared.failures.bucket_arn
                )
            ),
        )
