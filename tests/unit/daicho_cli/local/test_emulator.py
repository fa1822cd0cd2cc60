"""What is changed of MiniStack's functions and their logs."""

from __future__ import annotations

import os
import queue
import shutil
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from daicho_cli.local import emulator
from daicho_cli.local.emulator import (
    CODES,
    END_OF_LOG,
    FOUND_HANDLER,
    SECONDS_BETWEEN_READS,
    UNSENT,
    empty_queues_faster,
    mark_end_of_log,
    read_streams_apart,
    repeat_unsent_invocations,
    run_patient_functions_last,
    share_code,
)


def extract(folder: Path, place: Path, files: dict[str, str]) -> Path:
    """Extract an archive as MiniStack does for each start of a function."""
    runtime = SimpleNamespace(zipfile=zipfile)
    share_code(runtime, folder)
    (place / "code").mkdir(parents=True)
    with zipfile.ZipFile(place / "code.zip", "w") as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name), text)
    with runtime.zipfile.ZipFile(str(place / "code.zip")) as archive:
        archive.extractall(str(place / "code"))
    return place / "code"


def test_starts_of_the_same_code_share_its_files(tmp_path: Path) -> None:
    shared, files = tmp_path / "shared", {"a.py": "A = 1", "b/": "", "b/c.py": ""}
    first = extract(shared, tmp_path / "1", files)
    (first / "a.pyc").write_text("compiled")
    again = extract(shared, tmp_path / "2", files)
    assert again.resolve() == first.resolve() != extract(shared, tmp_path / "3", {"a.py": ""})
    assert {name.name for name in again.iterdir()} == {"a.py", "a.pyc", "b"}
    shutil.rmtree(tmp_path / "1")  # its process has ended
    assert (again / "b/c.py").exists()
    (again / "a.py").write_text("")  # the machine went down before it wrote the file
    assert (extract(shared, tmp_path / "4", files) / "a.py").read_text() == "A = 1"


def test_few_versions_of_the_code_are_kept_and_only_of_python(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    for number in range(CODES + 2):
        at = extract(shared, tmp_path / f"{number}", {"a.py": f"{number}"})
        os.utime(at, (number, number))
    code = extract(shared, tmp_path / "node", {"index.js": "1"})
    assert not code.is_symlink()
    assert (code / "index.js").read_text() == "1"
    assert {(each / "a.py").read_text() for each in shared.iterdir()} == {"2", "3", "4"}


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


def test_another_program_of_a_worker_is_refused() -> None:
    with pytest.raises(ValueError, match=r"has no line 'handler_fn = getattr"):
        mark_program("another")


class Mappings:
    """MiniStack's mappings, of which one waits for its function; notes what each has read."""

    def __init__(self) -> None:
        self.read: list[tuple[str, float]] = []
        self.patient: set[str] = set()
        self.waiting = threading.Semaphore(0)
        self.records = {"slow": 2, "quick": 3, "gathers": 1}

    def _iter_all_esms(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        for name, window in (("slow", 0), ("quick", 0), ("gathers", 1)):
            source = {"EventSourceArn": "arn:aws:dynamodb:us-east-1:0:table/t/stream/s"}
            mapping = {"UUID": name, "MaximumBatchingWindowInSeconds": window, **source}
            yield "000000000000", "us-east-1", mapping
        yield "000000000000", "us-east-1", {"UUID": "q", "EventSourceArn": "arn:aws:sqs:r:0:q"}

    def _poll_dynamodb_streams(self) -> bool:
        own = [mapping["UUID"] for *_, mapping in self._iter_all_esms()]
        assert len(own) == 1
        if not self.records[own[0]]:
            return False
        if own == ["slow"]:
            self.waiting.acquire()
        self.records[own[0]] -= 1
        self._note(own[0])
        self.read.append((own[0], time.monotonic()))
        return True

    def _poll_sqs(self) -> bool:
        self._note("queue")
        return True

    def _note(self, mapping: str) -> None:
        if emulator._is_patient.get():
            self.patient.add(mapping)

    def _sqs_esm_concurrency(self, esm: Any, _record: Any, _config: Any, queue: Any = None) -> int:
        return 1 if queue else int(esm["limit"])


def test_each_reader_of_a_stream_waits_for_its_own_function_alone() -> None:
    mappings = Mappings()
    read_streams_apart(mappings)
    began = time.monotonic()
    assert mappings._poll_dynamodb_streams() is False  # the thread that looks never waits
    wait_until(lambda: len(mappings.read) == 3)
    names, times = zip(*mappings.read, strict=True)
    assert names == ("quick",) * 3
    assert all(b - a >= SECONDS_BETWEEN_READS * 0.9 for a, b in pairwise(times))
    mappings.waiting.release(2)
    wait_until(lambda: len(mappings.read) == 5)
    mappings.records["quick"] = 1
    time.sleep(SECONDS_BETWEEN_READS)
    mappings._poll_dynamodb_streams()
    wait_until(lambda: len(mappings.read) == 7)
    assert all(at - began >= 1 for name, at in mappings.read if name == "gathers")
    assert mappings.patient == {"gathers"}


def test_a_queue_has_a_few_batches_under_way_and_its_functions_are_patient() -> None:
    mappings = Mappings()
    empty_queues_faster(mappings)
    queue = {"is_fifo": True}
    of_limits = [mappings._sqs_esm_concurrency({"limit": limit}, 0, 0, queue) for limit in (2, 10)]
    assert of_limits == [2, 3]
    assert mappings._poll_sqs()
    assert mappings.patient == {"queue"}
    assert not emulator._is_patient.get()


def test_the_process_of_a_patient_function_has_the_lowest_priority() -> None:
    class Sleeping:
        def _spawn(self) -> None:
            self._proc = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)

    run_patient_functions_last(Sleeping)
    for is_patient, priority in ((False, 0), (True, 19)):
        emulator._is_patient.set(is_patient)
        worker: Any = Sleeping()
        worker._spawn()
        with worker._proc:
            niceness = os.getpriority(os.PRIO_PROCESS, worker._proc.pid)
            assert niceness == max(priority, os.getpriority(os.PRIO_PROCESS, 0))
    emulator._is_patient.set(False)


def wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.005)
