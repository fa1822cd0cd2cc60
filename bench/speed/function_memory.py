"""The memory of one function in a process of its own: the program that `bench.speed.memory` runs.

It imports what the function imports, and a stub of AWS's answers. It prints JSON: the peak of the
resident set in MiB after the start, the first, the fifth and the last invocation.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

from botocore.awsrequest import AWSPreparedRequest, AWSResponse, HeadersDict
from botocore.httpsession import URLLib3Session

from bench.speed.stubbed_http import answer

WARM = 5


class Invocation:
    """The context of an invocation with plenty of time."""

    aws_request_id = "6bc28136-xmpl-4365-b021-0ce6b2e64ab0"
    function_name = "function"
    memory_limit_in_mb = 1024
    invoked_function_arn = "arn:aws:lambda:us-east-1:000000000000:function:function"

    def get_remaining_time_in_millis(self) -> int:
        """Two minutes."""
        return 120_000


def answer_any(request: AWSPreparedRequest) -> AWSResponse:
    """The answer of DynamoDB, or an empty success of S3."""
    if "X-Amz-Target" in request.headers:
        return answer(request)
    headers: Any = HeadersDict({"Content-Length": "0", "ETag": '"0"'})
    response: Any = AWSResponse(request.url, 200, headers, None)
    response._content = b""
    return response  # type: ignore[no-any-return]


def measure_peak() -> float:
    """The peak of the resident set in MiB, on Linux.

    ``ru_maxrss`` of a process that was started by a larger one begins with the size of that one.
    """
    status = Path("/proc/self/status").read_text("utf-8")
    (peak,) = re.findall(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    return int(peak) / 1024


def main(function: str, event_file: str, invocations: int) -> None:
    """Start a function, and invoke it so often with the event, which is parsed anew each time."""
    with mock.patch.object(URLLib3Session, "send", lambda _session, sent: answer_any(sent)):
        handler = import_module(f"daicho.handlers.{function}").build(os.environ)
        peaks = {"start": measure_peak()}
        for number in range(1, invocations + 1):
            event = json.loads(Path(event_file).read_bytes())
            with contextlib.redirect_stdout(io.StringIO()):
                result = handler(event, Invocation())
            if result.get("batchItemFailures") or result.get("statusCode", 200) >= 400:
                raise RuntimeError(f"{function} failed: {result}")
            del event, result
            if number in (1, WARM, invocations):
                peaks[f"after {number}"] = measure_peak()
    print(json.dumps(peaks))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
