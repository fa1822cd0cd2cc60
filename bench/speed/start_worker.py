"""One start: ``start_worker.py ready|first NAME EVENTS`` prints its processor time to stderr.

``NAME`` is a function, or ``bare`` for a boto3 client; ``EVENTS`` is a file with an event for each
function. Nothing is imported before it is needed: the imports are what is measured.
"""

import sys
import time


def start_bare(until: str) -> None:
    """A client of boto3, and one request."""
    import boto3  # noqa: PLC0415

    client = boto3.client("dynamodb")
    if until == "first":
        from bench.speed.stubbed_http import StubbedHttp  # noqa: PLC0415

        with StubbedHttp():
            client.get_item(TableName="t", Key={"PK": {"S": "a"}, "SK": {"S": "b"}})


def start_function(until: str, name: str, events: str) -> None:
    """A function, and its first invocation."""
    from importlib import import_module  # noqa: PLC0415

    handler = import_module(f"handlers.{name}").handler  # the access builds it
    if until == "first":
        import json  # noqa: PLC0415
        from pathlib import Path  # noqa: PLC0415

        from bench.speed.invocation import Context  # noqa: PLC0415
        from bench.speed.stubbed_http import StubbedHttp  # noqa: PLC0415

        with StubbedHttp():
            answer = handler(json.loads(Path(events).read_text("utf-8"))[name], Context())
        assert "errorMessage" not in answer  # noqa: S101
        assert answer.get("statusCode", 404) == 404, answer  # noqa: S101


def main(until: str, name: str, events: str) -> None:
    """Start, and print the processor time since the interpreter began."""
    if name == "bare":
        start_bare(until)
    else:
        start_function(until, name, events)
    sys.stderr.write(str(time.process_time()))


if __name__ == "__main__":
    main(*sys.argv[1:])
