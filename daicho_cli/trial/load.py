"""Requests to a stack for a while: how many, how fast, how many failed, how late lists are."""

from __future__ import annotations

import random
import statistics
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import httpx

from daicho.declare.entity import Entity
from daicho.declare.registry import Daicho
from daicho_cli.aws import Stack
from daicho_cli.smoke.calls import Api, Checks, RefusedError, SmokeFailure
from daicho_cli.smoke.checks import DerivedChecks
from daicho_cli.smoke.routes import ItemMaker, Routes
from daicho_cli.smoke.run import PATIENCE_S
from daicho_cli.smoke.target import open_tenant_api

CLIENTS = 4
PAUSE_BETWEEN_PROBES_S = 5.0
SAMPLE = 200
MAX_REASONS = 5
BEGAN = "began"


@dataclass
class Measured:
    """What was measured so far. Times are in milliseconds.

    ``read_again``: how many of the created items were read again afterwards, a sample of them.
    ``missing``: how many of these were not there.
    """

    seconds: float = 0.0
    requests: int = 0
    created: int = 0
    times: list[int] = field(default_factory=list)
    delays: list[int] = field(default_factory=list)
    failures: dict[str, int] = field(default_factory=dict)
    read_again: int = 0
    missing: int = 0

    def summarise(self) -> dict[str, Any]:
        """The figures of a report."""
        delays = "milliseconds until a list shows a new item (median, p95)"
        return {
            "seconds": round(self.seconds),
            "requests": self.requests,
            "items created": self.created,
            "milliseconds of a request (median, p99)": _describe(self.times, 0.99),
            delays: _describe(self.delays, 0.95),
            "items read again": self.read_again,
            "items missing": self.missing,
            "failed": dict(Counter(self.failures).most_common(MAX_REASONS)),
        }


def _describe(values: list[int], share: float) -> list[int]:
    """The median of some values, and the value that the ``share`` of them does not exceed."""
    if not values:
        return []
    return [round(statistics.median(values)), sorted(values)[int(share * (len(values) - 1))]]


@dataclass
class Load:
    """Creates items of all entities at a rate a second, each for one of some clients.

    Another tenant, without other items, is for the probes of the lists' delay.
    """

    target: Stack
    daicho: Daicho
    rate: float
    measured: Measured
    _stop: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _refused: set[type[Entity]] = field(default_factory=set)
    _paths: list[str] = field(default_factory=list)

    @contextmanager
    def drive(self, name: str) -> Iterator[None]:
        """Send requests as two tenants of this name, as long as the context is open; once.

        Raises:
            StackError, ClientError, BotoCoreError: see `create_run_user`.
        """
        with self._open(name) as maker, self._open(f"{name}-probe") as probe:
            began = time.monotonic()
            with ThreadPoolExecutor(CLIENTS + 1) as pool:
                futures = [pool.submit(self._create, maker) for _ in range(CLIENTS)]
                futures.append(pool.submit(self._probe, probe))
                try:
                    yield
                finally:
                    self._stop.set()
                for future in futures:
                    future.result()
            self.measured.seconds += time.monotonic() - began
            self._read_again(maker.api)

    @contextmanager
    def _open(self, tenant: str) -> Iterator[ItemMaker]:
        with open_tenant_api(self.target, tenant, self.daicho.roles, PATIENCE_S) as api:
            description = api.read("/openapi.json")
            api.client.event_hooks = {"request": [self._begin], "response": [self._end]}
            yield ItemMaker(api, Routes(self.daicho), description)

    def _begin(self, request: httpx.Request) -> None:
        request.extensions[BEGAN] = time.monotonic()

    def _end(self, response: httpx.Response) -> None:
        elapsed = time.monotonic() - response.request.extensions[BEGAN]
        with self._lock:
            self.measured.requests += 1
            self.measured.times.append(round(elapsed * 1000))

    def _create(self, shared: ItemMaker) -> None:
        """Create items, of which this is one of the clients, until it has to stop."""
        maker, draw = replace(shared, created=[]), random.Random()  # noqa: S311
        due = time.monotonic() + draw.random() * CLIENTS / self.rate
        while not self._stop.wait(max(0.0, due - time.monotonic())):
            due += CLIENTS / self.rate
            entities = [each for each in maker.routes.entities if each not in self._refused]
            entity = draw.choice(entities)
            try:
                path = maker.create(entity).path
            except RefusedError:  # a rule of the domain: its example cannot be repeated
                self._refused.add(entity)
            except SmokeFailure as failure:
                self._count_failure(failure)
            else:
                with self._lock:
                    self.measured.created += 1
                    self._paths += [path] if path else []

    def _probe(self, maker: ItemMaker) -> None:
        """Measure from the answer to a new item until a list shows it, again and again."""
        checks = DerivedChecks(maker, Checks(), settled=0)
        queries = [*maker.routes.searches, *maker.routes.listings]
        while queries and not self._stop.wait(PAUSE_BETWEEN_PROBES_S):
            try:
                item = checks.create_listed(queries[0])
                began = time.monotonic()
                checks.wait_for_item(queries[0], item)
                self.measured.delays.append(round((time.monotonic() - began) * 1000))
            except RefusedError:
                queries.pop(0)
            except SmokeFailure as failure:
                self._count_failure(failure)

    def _read_again(self, api: Api) -> None:
        """Read a sample of the items that were created."""
        sample = random.sample(self._paths, min(SAMPLE, len(self._paths)))
        found = [api.client.request("GET", path).status_code for path in sample]
        self.measured.read_again += len(sample)
        self.measured.missing += sum(status != httpx.codes.OK for status in found)

    def _count_failure(self, failure: SmokeFailure) -> None:
        reason = str(failure)[:120]
        with self._lock:
            self.measured.failures[reason] = self.measured.failures.get(reason, 0) + 1
