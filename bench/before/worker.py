"""One measurement in one checkout: ``PYTHONPATH`` has its functions; prints seconds as JSON.

Usage: ``worker.py start HANDLER`` for the start of a function, or ``worker.py record EVENT ROUNDS``
for the projection of the record in a file. The checkout may be older than the names of today.
"""

from __future__ import annotations

import json
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

ENVIRON = {
    "TABLE_NAME": "daicho",
    "STAGE": "local",
    "DIRTY_SHARDS": "4",
    "FAILURE_BUCKET": "failures",
    "ARCHIVE_BUCKET": "archive",
    "OBJECT_BUCKET": "objects",
    "JOB_MACHINE": "arn:aws:states:us-east-1:000000000000:stateMachine:jobs",
}
WARM_UP_ROUNDS = 20


class Context:
    """Lambda's context, with a minute left."""

    aws_request_id = "request"
    function_name = "daicho"
    memory_limit_in_mb = 512
    invoked_function_arn = "arn:aws:lambda:us-east-1:000000000000:function:daicho"

    def get_remaining_time_in_millis(self) -> int:
        """The milliseconds until Lambda ends the invocation."""
        return 60_000


class StubClient:
    """A DynamoDB client that answers each request at once, as if the table were empty."""

    def __getattr__(self, _operation: str) -> Any:
        return self._answer

    def _answer(self, **_request: Any) -> dict[str, Any]:
        return {"Items": [], "Count": 0, "Attributes": {}, "Responses": {}}


def measure_start(handler: str) -> float:
    """Processor seconds from the interpreter's start until a function is ready for an event."""
    module = import_module(f"handlers.{handler}")
    assert callable(module.handler)  # noqa: S101  # the access builds it
    return time.process_time()


def measure_record(path: str, rounds: int) -> float:
    """Processor seconds of the projection of one record, in the mean of many rounds."""
    project = import_module("daicho.handlers.project")
    event: dict[str, Any] = json.loads(Path(path).read_text("utf-8"))
    handler = project.build(ENVIRON, None, _build_dependencies())
    for _ in range(WARM_UP_ROUNDS):
        handler(event, Context())
    began = time.process_time()
    for _ in range(rounds):
        handler(event, Context())
    return (time.process_time() - began) / rounds


def _build_dependencies() -> Any:
    client: Any = StubClient()
    try:
        table_type = import_module("daicho.storage.table").Table
        dependencies_type = import_module("daicho.handlers.wiring.dependencies").Dependencies
        threads = "parallelism"
    except ModuleNotFoundError:  # a checkout with the names of before
        table_type = import_module("daicho.table").Table
        dependencies_type = import_module("handlers.outside").Outside
        threads = "at_once"
    return dependencies_type(
        table=lambda *_, **__: table_type(client, "daicho"),
        bucket=lambda *_, **__: client,
        **{threads: 1},
    )


def main(arguments: list[str]) -> None:
    """Measure what the arguments name."""
    match arguments:
        case ["start", handler]:
            seconds = measure_start(handler)
        case ["record", path, rounds]:
            seconds = measure_record(path, int(rounds))
        case _:
            raise SystemExit(__doc__)
    sys.stderr.write(json.dumps(seconds))


if __name__ == "__main__":
    main(sys.argv[1:])
