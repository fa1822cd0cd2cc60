"""What Lambda gives a function: its environment, its credentials, the context of an invocation."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test" * 10,
    "AWS_SESSION_TOKEN": "session-token-" * 48,  # as long as that of a function's role
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}
ENVIRON = {
    "TABLE_NAME": "daicho",
    "STAGE": "prod",
    "DIRTY_SHARDS": "16",
    "FAILURE_BUCKET": "failures",
    "ARCHIVE_BUCKET": "archive",
    "OBJECT_BUCKET": "objects",
    "JOB_MACHINE": "arn:aws:states:us-east-1:000000000000:stateMachine:jobs",
    "SETTLE_SECONDS": "1000",
    "SCAN_UNITS": "1000",
    "PROJECT_FUNCTION": "project",
    "ARCHIVE_FUNCTION": "archive",
    "POWERTOOLS_TRACE_DISABLED": "true",
    "POWERTOOLS_SERVICE_NAME": "daicho",
    # As the construct sets it: Pydantic would read the metadata of all packages for its plugins.
    "PYDANTIC_DISABLE_PLUGINS": "__all__",
    **CREDENTIALS,
}
"""The environment of all functions together."""


class Context:
    """Lambda's context at the beginning of an invocation."""

    aws_request_id = "6bc28136-xmpl-4365-b021-0ce6b2e64ab0"
    function_name = "daicho"
    memory_limit_in_mb = 512
    invoked_function_arn = "arn:aws:lambda:us-east-1:000000000000:function:daicho"

    def get_remaining_time_in_millis(self) -> int:
        """The milliseconds until Lambda ends the invocation."""
        return 120_000


@contextmanager
def run_on_one_processor() -> Iterator[None]:
    """Run this thread, and threads that it starts meanwhile, on one processor.

    Only Linux can do this. On another system, they run on all processors.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(processors)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, processors)
