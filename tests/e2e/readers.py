"""Readers that ask every query all the time while a stack changes, and a writer beside them.

Each answer is judged by the items as they were written (`tests.support.possible_answers`). An
answer of status 200 is right if a declaration that may answer meanwhile gives it.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.e2e.api import send
from tests.support.possible_answers import Row, Truth, WrittenItems

Truths = Mapping[str, Truth]
"""What a query answers, by its path and parameters. A path that is not in it has no route."""
Connect = Callable[[], Any]
READERS = 2
PAUSE_S = 0.05
MAX_NAMED = 5
BEING_BUILT = "being-built"
NO_ROUTE = (400, 404, 405)


@dataclass(frozen=True)
class Allowed:
    """The answers that are right now.

    ``truths``: of the declarations before a change, and of those after it. ``built``: queries that
    nothing could answer before, so that they may be refused as being built.
    """

    truths: tuple[Truths, ...]
    built: frozenset[str] = frozenset()

    def __or__(self, other: Allowed) -> Allowed:
        return Allowed((*self.truths, *other.truths), self.built | other.built)

    @property
    def paths(self) -> set[str]:
        """The queries that have a route."""
        return {path for truths in self.truths for path in truths}


@dataclass
class Readers:
    """The readers, and what they were answered. ``counts``: right answers, by kind."""

    connect: Connect
    written: WrittenItems
    paths: frozenset[str]
    allowed: Allowed
    counts: Counter[str] = field(default_factory=Counter)
    built: set[str] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def ask_always(self) -> Iterator[None]:
        """Ask every query all the time meanwhile."""
        with ThreadPoolExecutor(READERS) as pool:
            asking = [pool.submit(self._ask_until_over) for _ in range(READERS)]
            try:
                yield
            finally:
                self._over.set()
            for each in asking:
                each.result()

    def check(self) -> None:
        """Check that nothing was wrong until now."""
        assert not self.wrong, "\n".join(self.wrong[:MAX_NAMED])

    def _ask_until_over(self) -> None:
        try:
            with self.connect() as api:
                while not self._over.is_set():
                    for path in sorted(self.paths):
                        self._ask(api, path)
                        time.sleep(PAUSE_S)
        except Exception as error:
            self.wrong.append(f"a reader ended: {error!r}")
            raise

    def _ask(self, api: httpx.Client, path: str) -> None:
        allowed, states = self.allowed, self.written.copy_states()
        kind, rows = ask(api, path)
        allowed |= self.allowed
        newer = self.written.copy_states()
        possible = {id: (*states.get(id, ()), *newer[id]) for id in newer}
        fault = judge(path, kind, rows, allowed, possible)
        with self._lock:
            self.counts[kind] += 1
            if kind == BEING_BUILT:
                self.built.add(path)
            if fault is not None:
                self.wrong.append(f"{time.monotonic():.1f} {path}: {fault}")


def ask(api: httpx.Client, path: str) -> tuple[str, list[Row]]:
    """Read all pages of a query: the kind of the answer, and its rows.

    The kind is ``answered``, ``being-built``, ``no route``, or what else was answered.
    """
    rows: list[Row] = []
    cursor: str | None = None
    while True:
        url = httpx.URL(path)
        answer = send(api, "GET", str(url.copy_merge_params({"cursor": cursor}) if cursor else url))
        if answer.status_code in NO_ROUTE and not cursor:
            return "no route", []
        if answer.status_code == 503 and answer.json()["type"].endswith(BEING_BUILT):
            assert int(answer.headers["retry-after"]) > 0
            return BEING_BUILT, []
        if answer.status_code != 200:
            return f"{answer.status_code} {answer.text}", []
        page = answer.json()
        rows += page["items"]
        cursor = page["cursor"]
        if cursor is None:
            return "answered", rows


def judge(
    path: str,
    kind: str,
    rows: list[Row],
    allowed: Allowed,
    states: dict[str, tuple[Row | None, ...]],
) -> str | None:
    """What is wrong with an answer; None if it is right."""
    if kind == "answered":
        truths = [truths[path] for truths in allowed.truths if path in truths]
        if not truths:
            return f"answered without a declaration: {rows}"
        faults = {truth.find_fault(rows, states) for truth in truths}
        return None if None in faults else "; ".join(sorted(filter(None, faults)))
    if kind == "no route":
        return None if any(path not in truths for truths in allowed.truths) else kind
    return None if kind == BEING_BUILT and path in allowed.built else kind


class Writer:
    """Writes some items all the time; others stay as they are, so that each of them is judged.

    ``write``: writes the item of a number. It is called by one thread at a time.
    """

    def __init__(self, connect: Connect, write: Callable[[httpx.Client, int], None]) -> None:
        self._connect, self._write = connect, write
        self._turn = threading.Lock()
        self._over = threading.Event()

    @contextmanager
    def write_always(self, pause_s: float) -> Iterator[None]:
        """Write all the time meanwhile, with pauses."""

        def write() -> None:
            with self._connect() as api:
                for number in itertools.count():
                    if self._over.wait(pause_s):
                        return
                    with self._turn:
                        self._write(api, number)

        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(write)
            try:
                yield
            finally:
                self._over.set()
            writing.result()

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Write nothing meanwhile."""
        with self._turn:
            yield
