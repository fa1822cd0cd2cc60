"""What is changed of MiniStack's functions and their logs."""

from __future__ import annotations

import queue
from types import SimpleNamespace
from typing import Any

from daicho_cli.local.emulator import (
    END_OF_LOG,
    FOUND_HANDLER,
    UNSENT,
    mark_end_of_log,
    repeat_unsent_invocations,
)


def test_an_event_that_no_worker_got_is_sent_again() -> None:
    class Worker:
        def __init__(self, *answers: dict[str, Any]) -> None:
            self.answers = list(answers)

        def invoke(self, event: str, *, depth: int) -> dict[str, Any]:
            assert (event, depth) == ("event", 1)
            return self.answers.pop(0)

    repeat_unsent_invocations(Worker)
    unsent, died, fine = {"error": UNSENT}, {"error": "Worker process died"}, {"status": "ok"}
    for answers, expected, left in (
        ([unsent, fine], fine, 0),
        ([died, fine], died, 1),  # the function may have seen it
        ([fine, fine], fine, 1),
        ([unsent] * 4, unsent, 1),
    ):
        worker = Worker(*answers)
        assert worker.invoke("event", depth=1) == expected
        assert len(worker.answers) == left


def mark_program(program: str) -> Any:
    functions = SimpleNamespace(_PYTHON_WORKER_SCRIPT=program, Worker=type("Worker", (), {}))
    mark_end_of_log(functions)
    return functions


def test_lines_up_to_the_end_belong_to_the_invocation() -> None:
    worker = mark_program(FOUND_HANDLER).Worker()
    worker._stderr_queue = queue.Queue()
    for line in ("a", "b", END_OF_LOG, "late"):
        worker._stderr_queue.put(line)
    assert worker._drain_stderr_bounded() == "a\nb"
    assert worker._drain_stderr_bounded(first_line_wait=0.1) == "late"
