"""A consumer of the table's stream: the function, and the mapping that feeds it."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Duration
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.functions import PythonFunction, SharedResources

# EXACTNESS in numbers. An invocation retries failing I/O itself for up to its timeout, so 300
# retries outlast a day; a record is discarded, with its payload, before the stream's 24 hours
# would trim it without one.
TIMEOUT = Duration.seconds(300)
RETRIES = 300
MAXIMUM_AGE = Duration.hours(22)

# Only a mapping with a tumbling window tells the function its shard. The window has no
# other use here, and its end costs an invocation for each shard: so it is the longest possible.
TUMBLING_WINDOW = Duration.minutes(15)


def add_stream_consumer(
    scope: Construct,
    *,
    function: PythonFunction,
    foundation: SharedResources,
    patterns: Sequence[str],
    batch_size: int,
    gather: Duration,
) -> lambda_.CfnEventSourceMapping:
    """Map the stream to ``function``, starting with its oldest record.

    ``gather``: how long a batch may wait to fill. One batch at a time for each shard: the fences
    depend on the order of a shard.
    """
    return lambda_.CfnEventSourceMapping(
        scope,
        "Mapping",
        function_name=function.function.function_name,
        event_source_arn=foundation.stream,
        starting_position="TRIM_HORIZON",
        filter_criteria=lambda_.CfnEventSourceMapping.FilterCriteriaProperty(
            filters=[
                lambda_.CfnEventSourceMapping.FilterProperty(pattern=pattern)
                for pattern in patterns
            ]
        ),
        batch_size=batch_size,
        maximum_batching_window_in_seconds=int(gather.to_seconds()),
        tumbling_window_in_seconds=int(TUMBLING_WINDOW.to_seconds()),
        parallelization_factor=1,
        bisect_batch_on_function_error=True,
        function_response_types=["ReportBatchItemFailures"],
        maximum_retry_attempts=RETRIES,
        maximum_record_age_in_seconds=int(MAXIMUM_AGE.to_seconds()),
        destination_config=lambda_.CfnEventSourceMapping.DestinationConfigProperty(
            on_failure=lambda_.CfnEventSourceMapping.OnFailureProperty(
                destination=foundation.failures.bucket_arn
            )
        ),
    )
