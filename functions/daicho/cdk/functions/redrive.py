"""Redrive: applies quarantined and discarded records on request."""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from daicho.cdk.functions import grants
from daicho.cdk.functions.python_function import PythonFunction, SharedResources, forbid_retries

# All that Lambda gives. An invocation stops by itself when little of it is left, says that it is
# not finished, and is called again.
TIMEOUT = Duration.minutes(15)


class Redrive(Construct):
    """Nothing triggers it: no mapping, no schedule, no event of the bucket.

    It is useful only after a fix, and the caller needs its answer. The state machine of jobs calls
    it for redrives that operators start. Two concurrent runs are harmless, as each claim is done in
    one transaction.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        shared: SharedResources,
        projector: lambda_.Function,
        archiver: lambda_.Function,
    ) -> None:
        """Create the function; it applies the discarded batches of the two other functions."""
        super().__init__(scope, id)
        settings = shared.settings
        self.python = PythonFunction(
            self,
            "Redrive",
            name="redrive",
            shared=shared,
            permissions=grants.REDRIVE,
            timeout=TIMEOUT,
            environment={
                "FAILURE_BUCKET": shared.failures.bucket_name,
                "PROJECT_FUNCTION": projector.function_name,
                "ARCHIVE_FUNCTION": archiver.function_name,
                "ARCHIVE_BUCKET": shared.archive.bucket_name,
                "DIRTY_SHARDS": str(settings.dirty_shards),
                "SETTLE_SECONDS": str(settings.settle_seconds),
                "EMULATED_STREAM": str(settings.is_local).lower(),
            },
        )
        self.python.allow("dynamodb", grants.STREAM_DESCRIBE, shared.stream)
        # Called without waiting for the answer, it is not repeated behind the caller's back.
        forbid_retries(self, self.python.function)
