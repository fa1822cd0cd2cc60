"""Which stream records are kept over a restart of the local AWS."""

from __future__ import annotations

import queue
from types import SimpleNamespace
from typing import Any

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
