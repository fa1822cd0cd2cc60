"""The memory of one function in a process of its own: the program that `bench.speed.memory` runs.

It imports what the function imports, and a stub of AWS's answers. It prints JSON: the peaks of the
resident set in MiB after the start, the first and the last invocation, and how far the resident set
has grown between the invocations.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import statistics
import sys
import time
from importlib import import_module
from pathlib import Path

from bench.speed.invocation import Context
from bench.speed.stubbed_http import Answer, StubbedHttp, answer_as_empty_table

WARM, COMPARED = 20, 10
"""After twenty invocations, the next ten are compared with the last ten: the size after a single
one depends on which threads had most to do at a time."""
ANSWER_S = 0.02
"""How long each answer takes, so that all threads of a function have requests in flight."""


def read_answers(path: Path) -> Answer:
    """The answers of a file: operation, text that the request contains, body of the answer.

    The first that fits is given; to other requests the answers of an empty table.
    """
    canned = [
        (str(operation), str(text).encode(), str(body).encode())
        for operation, text, body in json.loads(path.read_bytes())
    ]

    def answer(operation: str, request: bytes) -> bytes:
        time.sleep(ANSWER_S)
        for expected, text, body in canned:
            if operation == expected and text in request:
                return body
        return answer_as_empty_table(operation, request)

    return answer


def measure_memory(name: str) -> float:
    """The resident set in MiB, on Linux: ``VmRSS`` at this moment, ``VmHWM`` its peak so far.

    ``ru_maxrss`` of a process that was started by a larger one begins with the size of that one.
    """
    status = Path("/proc/self/status").read_text("utf-8")
    (size,) = re.findall(rf"^{name}:\s+(\d+) kB$", status, re.MULTILINE)
    return int(size) / 1024


def main(function: str, folder: str, invocations: int) -> None:
    """Start a function, and invoke it so often with the event of a folder, parsed each time."""
    with StubbedHttp(read_answers(Path(folder, "answers.json"))):
        handler = import_module(f"daicho.handlers.{function}").build(os.environ)
        peaks = {"start": measure_memory("VmHWM")}
        sizes = []
        for number in range(1, invocations + 1):
            event = json.loads(Path(folder, "event.json").read_bytes())
            with contextlib.redirect_stdout(io.StringIO()):
                result = handler(event, Context())
            if (
                result.get("batchItemFailures")
                or result.get("statusCode", 200) >= 400
                or result.get("failed")
                or not result.get("finished", True)
            ):
                raise RuntimeError(f"{function} failed: {result!r:.500}")
            del event, result
            sizes.append(measure_memory("VmRSS"))
            if number in (1, invocations):
                peaks[f"after {number}"] = measure_memory("VmHWM")
    warm, last = sizes[WARM : WARM + COMPARED], sizes[-COMPARED:]
    growth = statistics.median(last) - statistics.median(warm)
    print(json.dumps({"peaks": peaks, "growth": growth}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
