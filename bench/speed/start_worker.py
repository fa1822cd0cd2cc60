"""One start: ``start_worker.py ready|first NAME EVENTS`` prints its processor time to stderr.

``NAME`` is a function, or ``bare`` for a boto3 client; ``EVENTS`` is a file with an event for each
function. Nothing is imported before it is needed: the imports are what is measured.
"""

import sys
import time
from typing import Any


def stub_http() -> None:
    """Let botocore's HTTP session answer each request at once, as an empty table does."""
    import zlib  # noqa: PLC0415

    from botocore import awsrequest  # noqa: PLC0415
    from botocore.httpsession import URLLib3Session  # noqa: PLC0415

    make_response: Any = awsrequest.AWSResponse
    body = b'{"Items": [], "Count": 0, "Responses": {}, "UnprocessedKeys": {}}'

    class Raw:
        def stream(self, *_: object, **__: object) -> list[bytes]:
            return [body]

    def send(_session: object, request: Any) -> Any:
        headers = awsrequest.HeadersDict({"x-amz-crc32": str(zlib.crc32(body))})
        response: Any = make_response(request.url, 200, headers, Raw())
        response._content = body
        return response

    session: Any = URLLib3Session
    session.send = send


class Context:
    """Lambda's context, with a minute left."""

    aws_request_id = "request"
    function_name = "daicho"
    memory_limit_in_mb = 512
    invoked_function_arn = "arn:aws:lambda:us-east-1:000000000000:function:daicho"

    def get_remaining_time_in_millis(self) -> int:
        """The milliseconds until Lambda ends the invocation."""
        return 60_000


def start_bare(until: str) -> None:
    """A client of boto3, and one request."""
    import boto3  # noqa: PLC0415

    client = boto3.client("dynamodb")
    if until == "first":
        stub_http()
        client.get_item(TableName="t", Key={"PK": {"S": "a"}, "SK": {"S": "b"}})


def start_function(until: str, name: str, events: str) -> None:
    """A function, and its first invocation."""
    from importlib import import_module  # noqa: PLC0415

    handler = import_module(f"handlers.{name}").handler  # the access builds it
    if until == "first":
        stub_http()
        import json  # noqa: PLC0415
        from pathlib import Path  # noqa: PLC0415

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
