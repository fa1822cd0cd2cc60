"""The API, the projector and the rollup over an in-memory table, with a fixed clock and fixed ids.

Everything that could differ between two runs is fixed: the clock moves by one step a request, and
the operating system's random bytes come from a seeded generator. So whatever changes in a recorded
file has been changed by the code.
"""

from __future__ import annotations

import datetime as dt
import os
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pytest
import time_machine
import ulid

from daicho.declare.registry import Daicho
from daicho.handlers import api, project, rollup
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.plan import Ledger
from daicho.plan.event_filters import project_filters
from daicho.storage import sessions
from daicho.storage.bucket import Bucket, open_bucket
from daicho.storage.table import Table
from daicho.testing.aws.event_filters import EventFilters
from daicho.testing.aws.memory_dynamodb import MemoryDynamoDB
from daicho.testing.aws.memory_s3 import MemoryS3
from daicho.testing.aws.stream_recorder import StreamRecorder
from daicho.testing.aws.table_stream import TableStream
from demonstration import discover_demonstration
from tests.support.api_client import STAFF, Answer, Client
from tests.support.stream_pump import Context, environment

START = dt.datetime(2026, 11, 21, 12, 0, 0, 123456, tzinfo=dt.UTC)
STEP = dt.timedelta(seconds=1, microseconds=1)
FIRST_SEQUENCE_NUMBER = 10**20
TABLE = "daicho"
Item = Mapping[str, Any]


class RecordingClient:
    """A DynamoDB client that keeps every request which is sent while it records."""

    def __init__(self, store: MemoryDynamoDB) -> None:
        self._store = store
        self.requests: list[list[Any]] | None = None

    def __getattr__(self, operation: str) -> Any:
        method = getattr(self._store, operation)

        def send(**request: Any) -> Any:
            if self.requests is not None:
                self.requests.append([operation, request])
            return method(**request)

        return send


class SigningBucket(Bucket):
    """An in-memory bucket whose URLs are signed by the real client: signing sends nothing."""

    def __init__(self) -> None:
        client: Any = MemoryS3(_now)
        super().__init__(client, "objects")
        self.sign_upload_url = open_bucket("objects").sign_upload_url  # type: ignore[method-assign]
        self.sign_download_url = open_bucket("objects").sign_download_url  # type: ignore[method-assign]


class StoppedMachine:
    """A state machine that starts nothing."""

    def start(self, name: str, given: Mapping[str, Any]) -> None:
        """Do nothing."""


@dataclass
class GoldenSystem:
    """One deployment in memory."""

    traveller: Any
    store: MemoryDynamoDB = field(init=False)
    stream: TableStream = field(init=False, default_factory=TableStream)
    sent: list[list[Any]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        ledger = Ledger.load()
        journal = StreamRecorder(self.stream, _now, FIRST_SEQUENCE_NUMBER, lambda: 1)
        self.store = MemoryDynamoDB(_now, journal)
        self._projector_client = RecordingClient(self.store)
        self._rollup_handler: Any = rollup.build(
            _environment(), dependencies=self._dependencies(self.store)
        )
        self._projector: Any = project.build(
            _environment(), dependencies=self._dependencies(self._projector_client)
        )
        self._filters = EventFilters(tuple(project_filters(ledger.derived_types)))
        self._api_client = RecordingClient(self.store)
        self._api = api.build(_environment(), dependencies=self._dependencies(self._api_client))
        self._read = 0

    def request(
        self, method: str, url: str, body: Any, headers: Mapping[str, str], role: str
    ) -> Answer:
        """Send one request, one step of the clock after the last. ``sent`` has what it sent."""
        self.sent = self._api_client.requests = []
        self.traveller.shift(STEP)
        claims = {**STAFF, **({"cognito:groups": [role]} if role else {})}
        return Client(self._api, "acme", claims)(method, url, body, **headers)

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.traveller.shift(seconds)

    def snapshot(self) -> dict[tuple[str, str], Item]:
        """Every stored item by its key."""
        return {(key.pk, key.sk): item for key, item in self.store.items}

    def project(self) -> Iterator[tuple[Mapping[str, Any], list[list[Any]] | None]]:
        """Project each new stream record by itself.

        Yields every record and the requests that its projection sent; None for a record that the
        event filter keeps from the projector.
        """
        (shard,) = self.stream.shards.values()
        while self._read < len(shard.records):
            record = shard.records[self._read]
            self._read += 1
            if not self._filters.matches(record):
                yield record, None
                continue
            self._projector_client.requests = []
            event = {"shardId": shard.id, "Records": [record], "state": {}}
            answer = self._projector(event, Context())
            assert answer["batchItemFailures"] == [], answer
            yield record, self._projector_client.requests
            self._projector_client.requests = None

    def roll_up(self) -> None:
        """Let the rollup do all that there is to do."""
        while self._rollup_handler({}, Context())["rolled"]:
            pass

    def _dependencies(self, client: Any) -> Dependencies:
        bucket = SigningBucket()
        return Dependencies(
            table=lambda *_, **__: Table(client, TABLE),
            bucket=lambda *_, **__: bucket,
            machine=lambda _: StoppedMachine(),  # type: ignore[arg-type,return-value]
            now=_now,
            sleep=lambda _: None,
            random=random.Random(1).random,
            parallelism=1,
        )


@contextmanager
def golden_system() -> Iterator[GoldenSystem]:
    """A system whose clock and random bytes are fixed while the context is open."""
    chance = random.Random(20261121)
    with (
        pytest.MonkeyPatch.context() as patch,
        time_machine.travel(START, tick=False) as traveller,
    ):
        daicho = discover_demonstration()
        patch.setattr(Daicho, "discover", lambda *_: daicho)
        patch.setenv("POWERTOOLS_TRACE_DISABLED", "true")
        patch.setenv("POWERTOOLS_METRICS_NAMESPACE", "Daicho")
        patch.setenv("POWERTOOLS_LOG_LEVEL", "ERROR")
        # URLs are signed with these. The session that clients share may have read others before.
        patch.setenv("AWS_ACCESS_KEY_ID", "testing")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        patch.setattr(sessions, "_open_session", cache(sessions._open_session.__wrapped__))
        patch.setattr(os, "urandom", chance.randbytes)
        patch.setattr(random, "_urandom", chance.randbytes)
        # The default one remembers the id before, which may be of another scenario.
        patch.setattr(ulid, "default_generator", ulid.ULIDGenerator())
        yield GoldenSystem(traveller)


def _environment() -> dict[str, str]:
    return environment(TABLE, DIRTY_SHARDS="2", STAGE="local", ARCHIVE_BUCKET="archive")


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)
