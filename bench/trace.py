"""Follow one request of each kind through ``functions/``: ``make trace``.

It counts the files that are entered, the moves from one file to another, and the functions that
are called, by the interpreter's call events. The handlers are the real ones, over the in-memory
DynamoDB of the delivery tests, whose files are not counted; each request is sent once before, so
that nothing is imported or built for the first time.
"""

from __future__ import annotations

import datetime as dt
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from rich.console import Console
from rich.table import Table

from daicho.handlers import api, project
from daicho.handlers.wiring.dependencies import Dependencies
from tests.support.api_client import Client
from tests.support.memory_stores import MemoryBucket, MemoryTable
from tests.support.stream_pump import Context, environment

ROOT = os.path.realpath("functions") + os.sep
SIMULATOR = f"{ROOT}daicho{os.sep}testing{os.sep}"
STREAM = "arn:aws:dynamodb:us-east-1:000000000000:table/daicho/stream/2026-11-21T00:00:00.000"
CREATED = 1_795_223_140


@dataclass
class Trace:
    """What one request entered: files in order, and functions by file and qualified name."""

    files: list[str] = field(default_factory=list)
    functions: set[tuple[str, str]] = field(default_factory=set)

    def enter(self, frame: FrameType, event: str, _argument: Any) -> None:
        """Note a call event; other events are ignored."""
        path = frame.f_code.co_filename
        if event != "call" or not path.startswith(ROOT) or is_of_simulator(frame):
            return
        file = path[len(ROOT) :]
        self.functions.add((file, frame.f_code.co_qualname))
        if not self.files or self.files[-1] != file:
            self.files.append(file)

    @property
    def counts(self) -> tuple[int, int, int]:
        """The files, how often a call led from one to another, and the functions."""
        return len(set(self.files)), len(self.files) - 1, len(self.functions)


def is_of_simulator(frame: FrameType | None) -> bool:
    """Whether a call is of the simulator, or the simulator makes it."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(SIMULATOR):
            return True
        frame = frame.f_back
    return False


@contextmanager
def trace_calls() -> Iterator[Trace]:
    """Note all calls of this process while the context is open, in threads too."""
    trace = Trace()
    sys.setprofile(trace.enter)
    threading.setprofile(trace.enter)
    try:
        yield trace
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def trace_requests() -> dict[str, Trace]:
    """Trace a POST, the projection of its record, and a search."""
    table, bucket = MemoryTable(), MemoryBucket()
    dependencies = Dependencies(
        now=lambda: dt.datetime.now(dt.UTC),
        table=lambda *_, **__: table,
        bucket=lambda *_, **__: bucket,
        machine=lambda *_: None,  # type: ignore[arg-type]
        sleep=lambda _: None,
        parallelism=1,
    )
    settings = environment("daicho", STAGE="local", DIRTY_SHARDS="1")
    client = Client(api.build(settings, None, dependencies))
    projector = project.build(settings, None, dependencies)
    items: list[Mapping[str, Any]] = []

    def create(name: str) -> None:
        client.good("POST", "/contacts", {"name": name, "company": "Analytical Ltd"})
        items[:] = [item for item in table.items.values() if "type" in item]

    steps: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "POST /contacts": (lambda: create("Warm Up"), lambda: create("Ada Lovelace")),
        "project one record": (
            lambda: projector(build_event(items[0], 1), Context()),
            lambda: projector(build_event(items[1], 2), Context()),
        ),
        "GET /contacts?q=ada": (
            lambda: client.good("GET", "/contacts?q=war"),
            lambda: client.good("GET", "/contacts?q=ada"),
        ),
    }
    traces = {}
    for label, (warm_up, request) in steps.items():
        warm_up()
        with trace_calls() as traces[label]:
            request()
    return traces


def build_event(item: Mapping[str, Any], number: int) -> dict[str, Any]:
    """The event of one INSERT; ``number`` is the record's sequence number."""
    change = {
        "Keys": {"PK": item["PK"], "SK": item["SK"]},
        "SequenceNumber": str(number),
        "ApproximateCreationDateTime": CREATED,
        "NewImage": dict(item),
    }
    record = {"eventName": "INSERT", "eventSourceARN": STREAM, "dynamodb": change}
    return {"shardId": "shard", "Records": [record]}


def main() -> None:
    """Print the counts, and the files that each request enters most often."""
    os.environ.update(POWERTOOLS_TRACE_DISABLED="true", POWERTOOLS_LOG_LEVEL="ERROR")
    table = Table("request", "files", "moves", "functions", "entered most often")
    for label, trace in trace_requests().items():
        often = ", ".join(f"{file} {count}" for file, count in Counter(trace.files).most_common(4))
        table.add_row(label, *map(str, trace.counts), often)
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
