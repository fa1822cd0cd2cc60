"""A pytest plugin that plants one fault after another, each in a process of its own.

The tests are collected once. For each fault of the file that `PLANTED_FAULTS` names, a forked
process plants it, and runs the tests that the file names for it until one fails. The file that
`FOUND_FAULTS` names gets a line of JSON for each fault. Used by `tests.matrix.fault_matrix`.
"""

from __future__ import annotations

import json
import os
import select
import signal
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.planting import CannotPlantError, Fault

JOBS, RESULTS = "PLANTED_FAULTS", "FOUND_FAULTS"
CANNOT_PLANT = "cannot be planted in a process"
_failed: list[str] = []
"""The tests of this process that failed."""


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keep the failure of a test, of its setup or of its end."""
    if report.failed:
        _failed.append(report.nodeid)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    """Try each fault instead of running all tests."""
    items = {item.nodeid: item for item in session.items}
    for line in Path(os.environ[JOBS]).read_text("utf-8").splitlines():
        job = json.loads(line)
        found = _try_fault(session, job, [items[name] for name in job["tests"] if name in items])
        with Path(os.environ[RESULTS]).open("a", encoding="utf-8") as file:
            file.write(json.dumps({"fault": job["fault"]["name"], **found}) + "\n")
    return True


def _try_fault(
    session: pytest.Session, job: Mapping[str, Any], items: Sequence[pytest.Item]
) -> Mapping[str, Any]:
    """Run tests with a fault; gives ``found_by`` and ``seconds``.

    What takes too long has found nothing.
    """
    began = time.monotonic()
    reader, writer = os.pipe()
    process = os.fork()
    if not process:
        os.setsid()
        try:
            os.write(writer, json.dumps(_run_planted(session, job["fault"], items)).encode())
        except BaseException:  # this process has to end here, not as a second run of pytest
            os.write(writer, json.dumps({"error": traceback.format_exc()}).encode())
        finally:
            os._exit(0)
    os.close(writer)
    ready, _, _ = select.select([reader], [], [], job["seconds"])
    answer = os.read(reader, 65_536) if ready else b'""'
    os.close(reader)
    with suppress(ProcessLookupError):  # it may have ended with all that it started
        os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)
    found_by = json.loads(answer) if answer else {"error": "the process ended without an answer"}
    if not isinstance(found_by, str):
        raise RuntimeError(f"{job['fault']['name']}: {found_by['error']}")
    return {"found_by": found_by, "seconds": time.monotonic() - began}


def _run_planted(
    session: pytest.Session, fault: Mapping[str, Any], items: Sequence[pytest.Item]
) -> str:
    """In the process of the fault: the first test that fails, or why the fault is not planted."""
    try:
        Fault(**fault).plant_in_process()
    except CannotPlantError:
        return CANNOT_PLANT
    for item, following in zip(items, (*items[1:], None), strict=False):
        item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
        if _failed:
            session._setupstate.teardown_exact(None)  # pytest has no public way
            return _failed[0]
    return ""
