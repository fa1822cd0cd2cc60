"""MiniStack with a stream that survives a restart. Runs in MiniStack's own virtual environment.

MiniStack saves the read position of each event source mapping, but not the stream's records. After
a restart the mappings skip as many new records as they had read old ones, and the records that were
not delivered at the stop are lost. This program saves the records that some mapping has not yet
handled with the table, and the position of the first of them. Then a stop is a pause in delivery,
as on AWS.

A function may also answer HTTP without a body, as on AWS; MiniStack would fail. A deployment ends
no request that is about to reach a function. And MiniStack waits 50 ms after each invocation for a
first log line of the function: here the function reports when its lines have ended.

Started as a program: ``python emulator.py FOLDER``; the folder only marks the process.
"""

from __future__ import annotations

import contextlib
import queue
import sys
from collections.abc import Callable
from typing import Any

KEPT = "daicho_stream"
Scope = tuple[str, str, str]
UNSENT = "'NoneType' object has no attribute 'stdin'"
"""The error of an event that was not written to a worker, because it has no process any more."""
SENDINGS = 3
END_OF_LOG = "\x1eend of the invocation's log"
"""The line that a function writes to stderr after each invocation, before its answer."""
SECONDS_FOR_LOG = 0.25
"""How long an invocation without that line waits for more lines: its process has ended."""
FOUND_HANDLER = "handler_fn = getattr(mod, handler_name)"
MARKING_HANDLER = f"""_found_handler = getattr(mod, handler_name)
        def handler_fn(event, context):
            try:
                return _found_handler(event, context)
            finally:
                print({END_OF_LOG!r}, file=sys.stderr, flush=True)"""


def read_positions(mappings: dict[Scope, Any], read: dict[Scope, int]) -> dict[Scope, int]:
    """The lowest position that any mapping of a table has reached, by account, region, table."""
    lowest: dict[Scope, int] = {}
    for (account, region, uuid), mapping in mappings.items():
        source = mapping.get("EventSourceArn", "")
        if ":dynamodb:" not in source or "/stream/" not in source:
            continue
        table = (account, region, source.split("/stream/")[0].split("/")[-1])
        position = read.get((account, region, uuid), 0)
        lowest[table] = min(position, lowest.get(table, position))
    return lowest


def list_pending(
    records: dict[Scope, list[Any]], trimmed: dict[Scope, int], lowest: dict[Scope, int]
) -> dict[Scope, tuple[int, list[Any]]]:
    """The undelivered records of each table, with the position of the first of them."""
    pending = {}
    for table, all_of_it in records.items():
        begin = trimmed.get(table, 0)
        at = min(max(lowest.get(table, begin + len(all_of_it)), begin), begin + len(all_of_it))
        pending[table] = (at, all_of_it[at - begin :])
    # A table of which every record has expired still has its position.
    for table, begin in trimmed.items():
        pending.setdefault(table, (begin, []))
    return pending


def keep_stream(dynamodb: Any, functions: Any) -> None:
    """Make MiniStack's DynamoDB save and restore the records that are not yet delivered."""
    save: Callable[[], dict[str, Any]] = dynamodb.get_state
    load: Callable[[Any], None] = dynamodb.load_persisted_state

    def get_state() -> dict[str, Any]:
        # The table first: a record without its item would derive items that must not exist.
        state = save()
        lowest = read_positions(
            dict(functions._esms._data), dict(functions._dynamodb_stream_positions._data)
        )
        left = list_pending(
            dict(dynamodb._stream_records._data), dict(dynamodb._stream_trimmed._data), lowest
        )
        state[KEPT] = [[*table, at, records] for table, (at, records) in left.items()]
        return state

    def load_persisted_state(state: Any) -> None:
        load(state)
        for account, region, table, at, records in (state or {}).get(KEPT, []):
            dynamodb._stream_records.set_scoped(account, region, table, records)
            dynamodb._stream_trimmed.set_scoped(account, region, table, at)

    dynamodb.get_state = get_state
    dynamodb.load_persisted_state = load_persisted_state


def allow_no_body(app: Any) -> None:
    """Let a function's answer have ``"body": null``: an empty body."""
    send_response: Callable[..., Any] = app._send_response

    async def _send_response(send: Any, status: int, headers: Any, body: Any, **more: Any) -> Any:
        return await send_response(send, status, headers, b"" if body is None else body, **more)

    app._send_response = _send_response


def repeat_unsent_invocations(worker: Any) -> None:
    """Send an event once more that a worker did not get, because a deployment just removed it.

    On AWS a deployment does not end a request. MiniStack removes the process of a worker while
    another thread is about to write an event to it. Then the event was not seen by anything.
    """
    invoke: Callable[..., dict[str, Any]] = worker.invoke

    def invoke_again(self: Any, *given: Any, **named: Any) -> dict[str, Any]:
        answer: dict[str, Any] = {}
        for _ in range(SENDINGS):
            answer = invoke(self, *given, **named)
            if answer.get("error") != UNSENT:
                break
        return answer

    worker.invoke = invoke_again


def mark_end_of_log(functions: Any) -> None:
    """Let a worker's log end at a line that its function writes, and not by waiting.

    Raises:
        ValueError: MiniStack's program of a worker has changed.
    """
    program = functions._PYTHON_WORKER_SCRIPT
    if program.count(FOUND_HANDLER) != 1:
        raise ValueError(f"MiniStack's program of a worker has no line {FOUND_HANDLER!r}")
    functions._PYTHON_WORKER_SCRIPT = program.replace(FOUND_HANDLER, MARKING_HANDLER)

    def drain(self: Any, **_waits: float) -> str:
        lines: list[str] = []
        with contextlib.suppress(queue.Empty):
            while (line := self._stderr_queue.get(timeout=SECONDS_FOR_LOG)) != END_OF_LOG:
                lines.append(line)
        return "\n".join(lines)

    functions.Worker._drain_stderr_bounded = drain


def main() -> None:
    """Start MiniStack; its settings are environment variables (see `daicho_cli.local.server`)."""
    # Only in MiniStack's virtual environment: the tests of the functions above need neither.
    from ministack import app  # noqa: PLC0415
    from ministack.core import lambda_runtime  # noqa: PLC0415
    from ministack.services import dynamodb, lambda_svc  # noqa: PLC0415

    keep_stream(dynamodb, lambda_svc)
    allow_no_body(app)
    repeat_unsent_invocations(lambda_runtime.Worker)
    mark_end_of_log(lambda_runtime)
    sys.argv[1:] = []
    app.main()


if __name__ == "__main__":
    main()
