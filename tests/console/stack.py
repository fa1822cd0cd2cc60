"""The functions behind the console over one table: API, operators' API, projector, rollup, jobs.

The stream is read by a thread, as Lambda would do it, so that a page sees derived state arrive.
"""

from __future__ import annotations

import datetime as dt
import os
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from daicho.handlers import api, archive, jobs, redrive, rollup
from daicho.handlers.wiring.dependencies import AWS_DEPENDENCIES
from daicho.jobs.state_machine import REDRIVE_PREFIX
from daicho.local import ops, project
from daicho.plan import Ledger
from daicho.plan.event_filters import HEARTBEAT_TYPE
from daicho.project import Project
from daicho.storage.bucket import Bucket
from daicho_cli.local.ttl_process import delete_expired
from daicho_cli.local.welcome import find_sample_data
from tests.console.gateway import Gateway
from tests.console.issuer import CLIENT, Issuer, User
from tests.support.dynoxide import create_table
from tests.support.memory_stores import SigningS3
from tests.support.stream_pump import Consumer, Context, Pump, environment

ROOT = Path(__file__).parents[2]
TENANTS = ("acme", "globex")
OPERATOR, ADMIN = "operator", "admin"
SECONDS_BETWEEN_READS = 0.05
SECONDS_BETWEEN_ROLLUPS = 0.25
SECONDS_OF_WORK = 3.0
"""How long after a write there may be something to do. To look for it costs processor time."""
SECONDS_TO_STOP = 30


@dataclass
class Machine:
    """A state machine that `ConsoleStack` advances: the executions that have not ended."""

    started: dict[str, dict[str, Any]] = field(default_factory=dict)
    open: list[dict[str, Any]] = field(default_factory=list)

    def start(self, name: str, given: Mapping[str, Any]) -> None:
        """Start an execution, once for each name."""
        if name not in self.started:
            self.started[name] = dict(given)
            self.open.append(dict(given))


class ConsoleStack:
    """Everything that the page talks to. ``url``: of the console."""

    def __init__(
        self,
        endpoint: str,
        dynamodb: DynamoDBClient,
        name: str,
        *,
        ledger: Ledger | None = None,
        **environment_variables: str,
    ) -> None:
        """``ledger`` and ``environment_variables``: of another project than this repository's."""
        self.project = Project.find(ROOT)
        roles = self.project.discover().roles
        self.issuer = Issuer(
            [
                *(User(tenant, tenant, [*roles]) for tenant in TENANTS),
                *(User(f"{tenant}-admin", tenant, [ADMIN, *roles]) for tenant in TENANTS),
                User(OPERATOR, TENANTS[0], [ADMIN, OPERATOR, *roles]),
            ]
        )
        self._servers = [self.issuer.start()]
        stores = {
            bucket: Bucket(SigningS3(lambda: dt.datetime.now(dt.UTC)), bucket)  # type: ignore[arg-type]
            for bucket in ("failures", "objects", "archive")
        }
        self.buckets, self.machine = stores, Machine()
        self.ledger, self.table_name = ledger or Ledger.load(), name
        dependencies = replace(
            AWS_DEPENDENCIES,
            bucket=lambda bucket, *_, **__: stores[bucket],
            machine=lambda _: self.machine,  # type: ignore[arg-type,return-value]
            parallelism=4,
        )
        settings = environment(
            name,
            STAGE="local",
            ARCHIVE_BUCKET="archive",
            EMULATED_STREAM="true",
            SETTLE_SECONDS="1",
            SCAN_UNITS="1000000",
            STACK_NAME=self.project.name,
            PROJECT_FUNCTION="project",
            ARCHIVE_FUNCTION="archive",
            AUDIT_FUNCTION="audit",
            CONSOLE_CLIENT=CLIENT,
            CONSOLE_ISSUER=self.issuer.url,
            CONSOLE_AUTHORIZE=f"{self.issuer.url}/oauth2/authorize",
            CONSOLE_TOKEN=f"{self.issuer.url}/oauth2/token",
            CONSOLE_LOGOUT=f"{self.issuer.url}/logout",
            CONSOLE_REVOKE=f"{self.issuer.url}/oauth2/revoke",
            **environment_variables,
        )
        self._rollup = rollup.build(settings, self.ledger, dependencies)
        waiting = replace(dependencies, sleep=self._deliver)
        self._jobs = jobs.build(settings, self.ledger, waiting)
        self._redrives = redrive.build(settings, self.ledger, waiting)
        projector = project.build(settings, self.ledger, dependencies)
        archiver = archive.build(settings, self.ledger, dependencies)
        consumers = [
            Consumer(projector, (*self.ledger.derived_types, HEARTBEAT_TYPE)),
            Consumer(archiver, (*self.ledger.archived_types, HEARTBEAT_TYPE)),
        ]
        self._dynamodb = dynamodb
        self.pump = Pump(dynamodb, endpoint, name, consumers)
        self.gateway = Gateway(
            self.issuer,
            api.build(settings, self.ledger, dependencies),
            ops.build(settings, self.ledger, dependencies),
        )
        self._servers.append(self.gateway.start(int(os.environ.get("CONSOLE_PORT", "0"))))
        self.switches = self.gateway.switches
        self.url = f"{self.gateway.url}/console"
        self.issuer.redirects.add(self.url)
        self._working, self._stopped = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self.errors: list[BaseException] = []

    def __enter__(self) -> ConsoleStack:
        """Begin to read the stream."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop threads and servers."""
        self._stopped.set()
        self._thread.join(SECONDS_TO_STOP)
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def load_sample_data(self) -> None:
        """Load the data of both tenants that the project has, if it has any."""
        sample = find_sample_data(self.project)
        if sample is not None:
            with tempfile.TemporaryDirectory() as folder:
                tokens = {tenant: self.issuer.make_token(tenant) for tenant in TENANTS}
                stack = {"url": self.gateway.url, "tokens": tokens, "functions": {"rollup": ""}}
                instance: Any = _Instance(Path(folder), self)
                sample.load(instance, stack, lambda _: None)

    def catch_up(self) -> None:
        """Let projector, rollup and jobs do all that there is to do."""
        with self._working:
            self.pump.run()
            while self._rollup({}, Context())["rolled"]:
                pass
            self._advance_jobs()
            self.pump.run()

    def _deliver(self, seconds: float) -> None:
        """Deliver the heartbeats that a job waits for; the thread that would do it waits."""
        self.pump.run()
        time.sleep(min(seconds, SECONDS_BETWEEN_READS))

    def expire_items(self, days: int) -> None:
        """DynamoDB deletes the items that expire within ``days``, and they are archived."""
        with self._working:
            self.pump.run()
            delete_expired(self._dynamodb, self.table_name, time.time() + days * 86_400)
            self.pump.run()

    def _work(self) -> None:
        rolled_up, written, until = 0.0, -1, 0.0
        while not self._stopped.wait(SECONDS_BETWEEN_READS):
            if written != self.gateway.writes or self.machine.open:
                written, until = self.gateway.writes, time.monotonic() + SECONDS_OF_WORK
            if time.monotonic() > until:
                continue
            try:
                with self._working:
                    self.pump.run()
                    if time.monotonic() - rolled_up > SECONDS_BETWEEN_ROLLUPS:
                        self._rollup({}, Context())
                        rolled_up = time.monotonic()
                    self._advance_jobs()
            except Exception as error:  # shown by the fixture of the next test
                self.errors.append(error)
                return

    def _advance_jobs(self) -> None:
        """One step of each job."""
        for given in [*self.machine.open]:
            work = self._redrives if given["job"].startswith(REDRIVE_PREFIX) else self._jobs
            if work(given, Context())["done"]:
                self.machine.open.remove(given)


@dataclass
class _Instance:
    """What the loader of sample data needs of a local AWS: a folder, and the rollup."""

    data: Path
    stack: ConsoleStack
    endpoint: str = ""

    def session(self) -> _Instance:
        return self

    def client(self, *_: Any, **__: Any) -> _Instance:
        return self

    def invoke(self, **_: Any) -> None:
        self.stack.catch_up()


@contextmanager
def serve_console(endpoint: str, dynamodb: DynamoDBClient) -> Iterator[ConsoleStack]:
    """The stack over a fresh table, with the sample data of both tenants."""
    name = create_table(dynamodb)
    with ExitStack() as opened:
        patch = opened.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("AWS_ENDPOINT_URL", endpoint)
        patch.setenv("POWERTOOLS_TRACE_DISABLED", "true")
        patch.setenv("POWERTOOLS_METRICS_NAMESPACE", "Daicho")
        patch.setenv("POWERTOOLS_LOG_LEVEL", "ERROR")
        stack = opened.enter_context(ConsoleStack(endpoint, dynamodb, name))
        stack.load_sample_data()
        yield stack
    dynamodb.delete_table(TableName=name)
