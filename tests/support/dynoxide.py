"""Dynoxide, the DynamoDB of the integration tests: one process for each test worker.

Fixtures: `dynamo` (the endpoint's URL), `dynamodb` (a client), `table_name` (a fresh table with
Daicho's keys, indexes and stream, for each test).
"""

from __future__ import annotations

import os
import platform
import re
import secrets
import shutil
import socket
import sqlite3
import subprocess
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.config import Config

from tests.support.meter import CountingClient
from tests.support.ministack import start_ministack

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import (
        GlobalSecondaryIndexTypeDef,
        KeySchemaElementTypeDef,
    )

REGION = "us-east-1"
ROOT = Path(__file__).parents[2]
KEYS = ("PK", "SK", "GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK", "GSI3PK", "GSI3SK")
PORTS = range(20_000, 32_000)
WORKERS = 16
SECONDS_TO_START = 60
MEMORY = Path("/dev/shm")  # Linux only; elsewhere Dynoxide's own memory does
BYTES_OF_ROOM = 1_000_000_000
CPUS = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}
NEEDED = "needs Dynoxide: "
MACHINES = ("linux-x64",)
"""Those for which package.json names a binary."""


def has_dynoxide() -> bool:
    """Whether the tests run on Dynoxide: not with ``DYNOXIDE=none``, nor without a binary."""
    given = os.environ.get("DYNOXIDE")
    return given != "none" if given else find_machine() in MACHINES


def find_machine() -> str:
    """The name that npm has for this machine: linux-x64, darwin-arm64."""
    cpu = platform.machine().lower()
    return f"{platform.system().lower()}-{CPUS.get(cpu, cpu)}"


def program() -> Path:
    """Where the binary is: ``$DYNOXIDE``, or the npm package for this machine."""
    if given := os.environ.get("DYNOXIDE"):
        return Path(given)
    path = ROOT / f"node_modules/@dynoxide/{find_machine()}/dynoxide"
    if not path.exists():
        raise FileNotFoundError(f"no Dynoxide at {path}: run make test, or set DYNOXIDE to one")
    return path


def free_port() -> int:
    """A port that nothing listens on at this moment.

    Below those that systems give to outgoing connections (from 32,768 on Linux, 49,152 elsewhere):
    of those, one may be somebody's when a server that was stopped wants its own again. Test workers
    begin at the same moment, and a suite without workers runs beside them: each has ports of its
    own.
    """
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", f"gw{WORKERS - 1}").removeprefix("gw"))
    while True:
        port = secrets.choice(PORTS[worker % WORKERS :: WORKERS])
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without Dynoxide, skip the tests that need it."""
    if not has_dynoxide():
        for item in items:
            if mark := item.get_closest_marker("dynoxide"):
                item.add_marker(pytest.mark.skip(reason=f"{NEEDED}{mark.args[0]}"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Without Dynoxide, say what the tests ran on, and how many were skipped for what."""
    if has_dynoxide():
        return
    reasons = [str(report.longrepr) for report in terminalreporter.stats.get("skipped", ())]
    pattern = re.compile(rf"{NEEDED}([^'\"]*)")
    counts = Counter(needed[1] for reason in reasons if (needed := pattern.search(reason)))
    listed = ", ".join(f"{count} for {what}" for what, count in counts.items())
    terminalreporter.write_line(
        f"no Dynoxide ({find_machine()}): MiniStack's DynamoDB; "
        f"{counts.total()} tests were skipped{f': {listed}' if listed else ''}"
    )


@contextmanager
def serving(database: Path | None = None) -> Iterator[str]:
    """Run Dynoxide, in memory or on ``database``, and give its endpoint's URL.

    Without Dynoxide it is MiniStack, in memory.
    """
    with ExitStack() as stack:
        if not has_dynoxide():
            if database is not None:
                raise RuntimeError("only Dynoxide keeps its table in a file")
            port = free_port()
            process = stack.enter_context(start_ministack(port))
            wait_for(process, port)
            yield f"http://127.0.0.1:{port}"
            return
        if database is None and _has_room(MEMORY):
            folder = stack.enter_context(tempfile.TemporaryDirectory(dir=MEMORY))
            database = Path(folder) / "dynoxide.db"
        yield stack.enter_context(_serving(database))


@contextmanager
def _serving(database: Path | None) -> Iterator[str]:
    port = free_port()
    on_disk = ["--db-path", str(database)] if database else []
    process = subprocess.Popen(
        [program(), "serve", "--port", str(port), *on_disk],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(process, port)
        if database:
            _index_stream(database)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _has_room(folder: Path) -> bool:
    return folder.is_dir() and shutil.disk_usage(folder).free > BYTES_OF_ROOM


def _index_stream(database: Path) -> None:
    """Let Dynoxide find a stream's last number by an index.

    It keeps every record of every table, of deleted ones too, and looks at all of them at each
    write: 4,000 writes a second become 130 behind 12,000 records, and stay 4,000 with this.
    """
    with closing(sqlite3.connect(str(database), timeout=SECONDS_TO_START)) as opened, opened:
        opened.execute(
            "CREATE INDEX IF NOT EXISTS stream_numbers ON"
            " _stream_records (table_name, CAST(sequence_number AS INTEGER))"
        )


def client(endpoint: str) -> DynamoDBClient:
    """A client that neither retries nor waits for long: what fails here is a bug."""
    config = Config(retries={"total_max_attempts": 1}, read_timeout=30, max_pool_connections=50)
    return boto3.client("dynamodb", endpoint_url=endpoint, region_name=REGION, config=config)


def create_table(dynamodb: DynamoDBClient, name: str | None = None) -> str:
    """Create a table as the stack would; names under 11 characters break its stream's ids."""
    name = name or f"daicho-{uuid.uuid4().hex}"
    dynamodb.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in KEYS],
        KeySchema=_key(""),
        GlobalSecondaryIndexes=[
            _index("GSI1", {"ProjectionType": "ALL"}),
            _index("GSI2", {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["copy"]}),
            _index("GSI3", {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["total"]}),
        ],
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    )
    return name


@pytest.fixture(scope="session")
def dynamo() -> Iterator[str]:
    """The URL of this worker's Dynoxide."""
    with serving() as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def dynamodb(dynamo: str) -> Iterator[DynamoDBClient]:
    """A client of this worker's Dynoxide."""
    made = client(dynamo)
    # As the functions do: botocore's own calls take a sixth of the suite's processor time.
    direct: Any = CountingClient(made, boto3.Session().get_credentials())
    yield direct
    made.close()


@pytest.fixture
def table_name(dynamodb: DynamoDBClient) -> Iterator[str]:
    """A fresh table."""
    name = create_table(dynamodb)
    yield name
    dynamodb.delete_table(TableName=name)


def wait_for(process: subprocess.Popen[bytes], port: int) -> None:
    until = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < until:
        if process.poll() is not None:
            raise RuntimeError(f"Dynoxide ended with {process.returncode} at its start")
        with socket.socket() as probe:
            probe.settimeout(1)
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise RuntimeError(f"Dynoxide did not answer on port {port} in {SECONDS_TO_START} s")


def _key(index: str) -> list[KeySchemaElementTypeDef]:
    return [
        {"AttributeName": f"{index}PK", "KeyType": "HASH"},
        {"AttributeName": f"{index}SK", "KeyType": "RANGE"},
    ]


def _index(name: str, projection: object) -> GlobalSecondaryIndexTypeDef:
    return {"IndexName": name, "KeySchema": _key(name), "Projection": projection}  # type: ignore[typeddict-item]
