"""Chromium's traces: what the main thread of a page was busy with."""

from __future__ import annotations

import json
from typing import Any

MAIN_THREAD = "CrRendererMain"
TASKS = frozenset(("RunTask", "ThreadControllerImpl::RunTask"))


def find_longest_task(trace: bytes) -> float:
    """The milliseconds of the longest task of any page's main thread, by the wall clock.

    Raises:
        ValueError: the trace has no task of such a thread.
    """
    events: list[dict[str, Any]] = json.loads(trace)["traceEvents"]
    threads = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == MAIN_THREAD
    }
    tasks = [
        event["dur"]
        for event in events
        if event["name"] in TASKS and event["ph"] == "X" and (event["pid"], event["tid"]) in threads
    ]
    if not tasks:
        raise ValueError("the trace has no task of a page's main thread")
    return float(max(tasks)) / 1_000
