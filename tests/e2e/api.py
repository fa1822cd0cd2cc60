"""The deployed API as a client sees it, and waiting for what follows from a write."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import httpx

from daicho_cli.local.instance import LocalInstance
from daicho_cli.local.server import find_program

T = TypeVar("T")
TIMEOUT = 60.0
"""Seconds for one request, of which a function has half."""
PATIENCE = 300.0
"""Seconds, for a machine that is busy with other things: nobody waits for them unless it fails."""

MIN_PAUSE, MAX_PAUSE = 0.1, 1.6
"""Seconds between two readings. Each costs processor time, of which the functions have the rest."""
PROCESS_ENDED = "Worker process "


@contextmanager
def client(stack: dict[str, Any], tenant: str) -> Iterator[httpx.Client]:
    """A client with a tenant's token."""
    headers = {"authorization": f"Bearer {stack['tokens'][tenant]}"}
    with httpx.Client(base_url=stack["url"], headers=headers, timeout=TIMEOUT) as api:
        yield api


def eventually(read: Callable[[], T], holds: Callable[[T], bool], seconds: float = PATIENCE) -> T:
    """What ``read`` gives once it ``holds``; what it gave last, after ``seconds``."""
    until = time.monotonic() + seconds
    pause = MIN_PAUSE
    while not holds(found := read()) and time.monotonic() < until:
        time.sleep(pause)
        pause = min(2 * pause, MAX_PAUSE)
    return found


def kill(place: LocalInstance) -> None:
    """End the local AWS at once, as a crash does."""
    process = find_program(place)
    assert process.pid
    os.kill(process.pid, signal.SIGKILL)
    assert eventually(lambda: process.pid, lambda pid: pid is None) is None


def send(api: httpx.Client, method: str, path: str, **options: Any) -> httpx.Response:
    """Send a request; again if the local AWS ended the process that worked on it.

    It does so when a function is updated, where AWS lets a request end.
    """
    while True:
        answer = api.request(method, path, **options)
        if answer.status_code != 502 or PROCESS_ENDED not in answer.text:
            return answer


def everything(api: httpx.Client, path: str, **parameters: Any) -> list[dict[str, Any]]:
    """All pages of a list."""
    items: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        asked = parameters | ({"cursor": cursor} if cursor else {})
        answer = api.get(path, params=asked)
        assert answer.status_code == 200, answer.text
        page = answer.json()
        items += page["items"]
        cursor = page["cursor"]
        if cursor is None:
            return items
