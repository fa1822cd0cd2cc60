"""Which stream records are kept over a restart of the local AWS."""

from __future__ import annotations

import io
import queue
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from daicho_cli.local.emulator import (
    END_OF_LOG,
    FOUND_HANDLER,
    UNSENT,
    Scope,
    list_pending,
    mark_end_of_log,
    read_positions,
    repeat_unsent_invocations,
)

TABLE: Scope = ("1", "r", "ledger")
STREAM = "arn:aws:dynamodb:r:1:table/ledger/stream/2026-11-21T00:00:00.000"


def mapping(uuid: str, source: str = STREAM) -> tuple[Scope, dict[str, str]]:
    return ("1", "r", uuid), {"EventSourceArn": source}


def test_the_slowest_mapping_decides() -> None:
    mappings = dict([mapping("fast"), mapping("slow")])
    read = {("1", "r", "fast"): 9, ("1", "r", "slow"): 4}
    assert read_positions(mappings, read) == {TABLE: 4}


def test_a_mapping_that_has_not_begun_keeps_everything() -> None:
    assert read_positions(dict([mapping("new")]), {}) == {TABLE: 0}


def test_other_sources_do_not_count() -> None:
    assert read_positions(dict([mapping("queue", "arn:aws:sqs:r:1:jobs")]), {}) == {}


def test_what_is_delivered_is_left_out() -> None:
    assert list_pending({TABLE: ["c", "d", "e"]}, {TABLE: 2}, {TABLE: 4}) == {TABLE: (4, ["e"])}


def test_expired_records_do_not_move_the_position_back() -> None:
    assert list_pending({TABLE: ["c", "d"]}, {TABLE: 2}, {TABLE: 1}) == {TABLE: (2, ["c", "d"])}


def test_a_table_that_nobody_reads_keeps_only_its_position() -> None:
    assert list_pending({TABLE: ["a", "b"]}, {}, {}) == {TABLE: (2, [])}


def test_a_position_without_records_is_kept() -> None:
    assert list_pending({}, {TABLE: 7}, {TABLE: 7}) == {TABLE: (7, [])}


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


def test_a_function_says_when_its_log_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    def handler(event: str, context: None) -> str:
        sys.stderr.write("line\n")
        if event == "bad":
            raise ValueError(event)
        return event

    functions = mark_program(f"if True:\n    if True:\n        {FOUND_HANDLER}\n")
    monkeypatch.setattr(sys, "stderr", written := io.StringIO())
    names: dict[str, Any] = {"mod": SimpleNamespace(h=handler), "handler_name": "h", "sys": sys}
    exec(functions._PYTHON_WORKER_SCRIPT, names)  # noqa: S102 - as the worker does
    assert names["handler_fn"]("good", None) == "good"
    with pytest.raises(ValueError, match="bad"):
        names["handler_fn"]("bad", None)
    assert written.getvalue() == f"line\n{END_OF_LOG}\n" * 2


def test_lines_up_to_the_end_belong_to_the_invocation() -> None:
    worker = mark_program(FOUND_HANDLER).Worker()
    worker._stderr_queue = queue.Queue()
    for line in ("a", "b", END_OF_LOG, "late"):
        worker._stderr_queue.put(line)
    assert worker._drain_stderr_bounded() == "a\nb"
    assert worker._drain_stderr_bounded(first_line_wait=0.1) == "late"


def test_another_program_of_a_worker_is_an_error() -> None:
    with pytest.raises(ValueError, match="no line"):
        mark_program("run()")
