"""MiniStack with a durable state. Runs in MiniStack's own virtual environment.

`daicho_cli.local.durable_state` saves each change before it is answered. So a stop, or a kill, is a
pause in delivery, as on AWS.

A function may also answer HTTP without a body, as on AWS; MiniStack would fail. A deployment ends
no request that is about to reach a function. MiniStack waits 50 ms after each invocation for a
first log line of the function: here the function reports when its lines have ended. And requests of
functions to DynamoDB have no header of MiniStack's: with it, `daicho.storage.direct` would leave
each of them to botocore.

Started as a program: ``python emulator.py FOLDER``; the folder only marks the process.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import errno
import gc
import hashlib
import json
import os
import queue
import shutil
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

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
COUNTED_CALLS = '("before-call", _ms_add_invoke_depth)'
COUNTED_INVOCATIONS = '("before-call.lambda", _ms_add_invoke_depth)'
"""MiniStack counts how deep functions invoke each other, in a header of each of their requests."""
SECONDS_BETWEEN_READS = 0.05
"""How often a stream is read while records follow each other; Lambda reads it every 0.25 s."""
SECONDS_BETWEEN_LOOKS = 0.005
"""How long a write that follows another waits until its readers look for it."""
NEW_OBJECTS = 50_000, 20
"""After how many new objects Python looks for cycles; at 700, it does so during each batch."""
SECONDS_OF_TURN = 0.0005
"""How long a thread runs while another waits. Python's default is 5 ms."""
CODES = 3
"""How many versions of the functions' code are kept at a start."""
REFUSAL = json.dumps(
    {
        "__type": "InternalServerError",
        "message": "The local AWS has too many open files. No new connection is accepted until "
        "others end; ulimit -n before make up allows more",
    }
)
LOWEST_PRIORITY = 19
_is_patient = contextvars.ContextVar("is_patient", default=False)
"""Whether this thread invokes functions that nobody waits for."""
SECONDS_TO_READ = 0.5
BATCHES_UNDER_WAY = 3
"""Of a queue; each needs a process of the function that empties it."""
SECONDS_TO_END = 3
"""How long a stop waits for the answers to requests that have begun."""


def refuse_without_files() -> None:
    """Answer a connection with 503 while too many files are open: else its client waits long."""
    report = asyncio.BaseEventLoop.default_exception_handler
    spare = [os.open(os.devnull, os.O_RDONLY)]

    def handle(loop: Any, context: dict[str, Any]) -> None:
        error = context.get("exception")
        is_full = isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE)
        if not is_full or "socket" not in context:
            report(loop, context)
            return
        os.close(spare.pop())
        with contextlib.suppress(OSError):  # nobody waits any more, or it has gone
            while True:
                connection, _ = context["socket"]._sock.accept()
                with connection:
                    connection.settimeout(SECONDS_TO_READ)
                    connection.recv(1_000_000)
                    head = f"HTTP/1.1 503 Service Unavailable\r\nContent-Length: {len(REFUSAL)}"
                    connection.sendall(f"{head}\r\nConnection: close\r\n\r\n{REFUSAL}".encode())
        spare.append(os.open(os.devnull, os.O_RDONLY))

    asyncio.BaseEventLoop.default_exception_handler = handle  # type: ignore[method-assign, assignment]


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


def change_program(functions: Any, text: str, replacement: str) -> None:
    """Replace a text in MiniStack's program of a worker.

    Raises:
        ValueError: MiniStack has changed it.
    """
    program = functions._PYTHON_WORKER_SCRIPT
    if program.count(text) != 1:
        raise ValueError(f"MiniStack's program of a worker has no line {text!r}")
    functions._PYTHON_WORKER_SCRIPT = program.replace(text, replacement)


def read_streams_apart(mappings: Any) -> None:
    """Let each function that reads a stream do so at its own pace, as on AWS.

    MiniStack has one thread, which waits for one function after the other. Here each mapping has a
    thread. Records that follow each other share an invocation; the first record after a pause is
    delivered at once, or after the batching window of the mapping, which MiniStack ignores.
    """
    poll: Callable[[], bool] = mappings._poll_dynamodb_streams
    list_all: Callable[[], Any] = mappings._iter_all_esms
    this_thread = threading.local()
    looks: dict[str, threading.Event] = {}

    def list_own() -> list[Any]:
        own = getattr(this_thread, "mapping", None)
        return [each for each in list_all() if own in (None, each[-1]["UUID"])]

    def read(mapping: str, window_s: int) -> None:
        this_thread.mapping = mapping
        _is_patient.set(window_s > 0)
        read_at = 0.0
        while True:
            looks[mapping].wait()
            looks[mapping].clear()
            is_read = True
            while is_read:
                time.sleep(window_s or max(0.0, read_at + SECONDS_BETWEEN_READS - time.monotonic()))
                read_at = time.monotonic()
                try:
                    is_read = poll()
                except Exception as error:
                    mappings.logger.error("the stream is not read: %s", error)
                    is_read = False

    def look_again() -> bool:
        of_streams = (each[-1] for each in list_all() if "/stream/" in each[-1]["EventSourceArn"])
        for mapping in of_streams:
            id, window_s = mapping["UUID"], mapping.get("MaximumBatchingWindowInSeconds") or 0
            if id not in looks:
                looks[id] = threading.Event()
                threading.Thread(target=read, args=(id, window_s), daemon=True).start()
            looks[id].set()
        return False

    mappings._iter_all_esms = list_own
    mappings._poll_dynamodb_streams = look_again
    mappings._ESM_IDLE_WAKE_GAP_SECONDS = SECONDS_BETWEEN_LOOKS


async def serve(app: Any, settings: Any) -> None:
    """Answer HTTP with uvicorn: MiniStack's Hypercorn takes more time than most requests."""
    import uvicorn  # noqa: PLC0415

    host, _, port = settings.bind[0].rpartition(":")
    config = uvicorn.Config(
        app,
        host,
        int(port),
        http="httptools",
        ws="none",
        lifespan="on",
        log_config=None,
        proxy_headers=False,
        access_log=False,
        server_header=False,
        timeout_keep_alive=int(settings.keep_alive_timeout),
        timeout_graceful_shutdown=SECONDS_TO_END,
    )
    await uvicorn.Server(config).serve()


def empty_queues_faster(mappings: Any) -> None:
    """Let a FIFO queue have several batches under way, as on AWS.

    MiniStack allows one. It gives no message out while an earlier one of its group is under way.
    """
    poll: Callable[[], bool] = mappings._poll_sqs
    count: Callable[..., int] = mappings._sqs_esm_concurrency

    def poll_queues() -> bool:
        _is_patient.set(True)
        try:
            return poll()
        finally:
            _is_patient.set(False)

    mappings._poll_sqs = poll_queues
    mappings._sqs_esm_concurrency = lambda *given: min(BATCHES_UNDER_WAY, count(*given[:3]))


def run_patient_functions_last(worker: Any) -> None:
    """Let functions of queues, and those that collect records, run when no other needs the CPU.

    On AWS they have CPUs of their own.
    """
    spawn: Callable[[Any], None] = worker._spawn

    def _spawn(self: Any) -> None:
        spawn(self)
        if _is_patient.get():
            os.setpriority(os.PRIO_PROCESS, self._proc.pid, LOWEST_PRIORITY)

    worker._spawn = _spawn


def mark_end_of_log(functions: Any) -> None:
    """Let a worker's log end at a line that its function writes, and not by waiting.

    Raises:
        ValueError: MiniStack's program of a worker has changed.
    """
    change_program(functions, FOUND_HANDLER, MARKING_HANDLER)

    def drain(self: Any, **_waits: float) -> str:
        lines: list[str] = []
        with contextlib.suppress(queue.Empty):
            while (line := self._stderr_queue.get(timeout=SECONDS_FOR_LOG)) != END_OF_LOG:
                lines.append(line)
        return "\n".join(lines)

    functions.Worker._drain_stderr_bounded = drain


def share_code(runtime: Any, folder: Path) -> None:
    """Let all processes of the same code share its files, with what Python compiles of them.

    MiniStack extracts the code for each start of a function, which then compiles all of it.
    """

    class Archive(zipfile.ZipFile):
        def extractall(self, path: Any = None, *given: Any, **named: Any) -> None:
            """Extract as MiniStack asks, or link to where that was done before."""
            content = Path(str(self.filename)).read_bytes()
            shared, place = folder / hashlib.sha256(content).hexdigest(), Path(path)
            with lock:
                if not self._is_whole(shared):
                    super().extractall(path, *given, **named)
                    if not any(name.endswith(".py") for name in self.namelist()):
                        return  # MiniStack may add files
                    shutil.rmtree(shared, ignore_errors=True)
                    place.rename(shared)
            shutil.rmtree(place, ignore_errors=True)
            place.symlink_to(shared)

        def _is_whole(self, shared: Path) -> bool:
            """Whether all files are there: a machine may have gone down before it wrote them."""
            files = [file for file in self.infolist() if not file.is_dir()]
            sizes = {shared / file.filename: file.file_size for file in files}
            with contextlib.suppress(OSError):
                return all(file.stat().st_size == size for file, size in sizes.items())
            return False

    lock = threading.Lock()
    folder.mkdir(exist_ok=True)
    for old in sorted(folder.iterdir(), key=lambda shared: shared.stat().st_mtime)[:-CODES]:
        shutil.rmtree(old, ignore_errors=True)
    runtime.zipfile = SimpleNamespace(**{**vars(zipfile), "ZipFile": Archive})


def main() -> None:
    """Start MiniStack; its settings are environment variables (see `daicho_cli.local.server`)."""
    # Only in MiniStack's virtual environment: the tests of the functions above need neither.
    import hypercorn.asyncio  # noqa: PLC0415
    from ministack import app  # noqa: PLC0415
    from ministack.core import lambda_runtime, persistence  # noqa: PLC0415
    from ministack.services import (  # noqa: PLC0415
        _dynamodb_keywords,
        apigateway,
        cloudformation,
        dynamodb,
        eventbridge,
        lambda_svc,
        s3,
        sqs,
        stepfunctions,
    )

    # No other package of the environment of this command is imported.
    sys.path.append(str(Path(__file__).parents[2]))
    from daicho_cli.local.durable_state import DurableState  # noqa: PLC0415
    from daicho_cli.local.fast_table import (  # noqa: PLC0415
        BATCHES,
        Turns,
        index_expiries,
        remember_indexes,
        remember_parsed_texts,
        remember_signatures,
    )
    from daicho_cli.local.journal import FILE, Journal  # noqa: PLC0415
    from daicho_cli.local.restored_state import MiniStack  # noqa: PLC0415
    from daicho_cli.local.sorted_partitions import SortedPartitions  # noqa: PLC0415

    sys.path.pop()
    allow_no_body(app)
    app._with_date_header = lambda send: send  # uvicorn adds it
    refuse_without_files()
    services = (dynamodb, lambda_svc, s3, stepfunctions, cloudformation, sqs)
    journal = Journal(Path(persistence.STATE_DIR) / FILE)
    DurableState(journal, MiniStack(app, persistence, *services))
    turns = Turns()
    turns.hold_back(dynamodb, 1, BATCHES)
    for service in (s3, sqs, eventbridge):
        turns.hold_back(service, 2)
    index_expiries(dynamodb)
    remember_indexes(dynamodb)
    SortedPartitions(dynamodb)
    remember_parsed_texts(dynamodb, _dynamodb_keywords)
    remember_signatures(apigateway)
    share_code(lambda_runtime, Path(persistence.STATE_DIR).with_name("code"))
    repeat_unsent_invocations(lambda_runtime.Worker)
    mark_end_of_log(lambda_runtime)
    change_program(lambda_runtime, COUNTED_CALLS, COUNTED_INVOCATIONS)
    read_streams_apart(lambda_svc)
    empty_queues_faster(lambda_svc)
    run_patient_functions_last(lambda_runtime.Worker)
    hypercorn.asyncio.serve = serve
    gc.set_threshold(*NEW_OBJECTS)
    sys.setswitchinterval(SECONDS_OF_TURN)
    sys.argv[1:] = []
    app.main()


if __name__ == "__main__":
    main()
