"""Restored copies of a snapshot: other random numbers, new credentials, connections of their own.

The snapshot is imitated by a process that initialises as the API does, and forks two copies.
"""

from __future__ import annotations

import datetime as dt
import http.server
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from daicho.errors import RefusedError, UnavailableError
from daicho.handlers.wiring.snap_start import (
    HOOKS,
    INITIALIZATION_TYPE,
    SNAP_START,
    SnapshotHooks,
    add_snapshot_hooks,
)
from tests.support.repository import ROOT
from tests.support.snapshot_process import LazyApi, Older, Registry

ACCESS_KEY = re.compile(r"Credential=([^/]+)/")


class Amazon(http.server.ThreadingHTTPServer):
    """The endpoint of the container's credentials, and a table without items."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.issued = 0
        self.requests: list[dict[str, Any]] = []
        self.fails = False


class Answers(http.server.BaseHTTPRequestHandler):
    """What it answers."""

    protocol_version = "HTTP/1.1"
    server: Amazon

    def do_GET(self) -> None:
        """Issue credentials, which are valid for six hours."""
        self.server.issued += 1
        expires = dt.datetime.now(dt.UTC) + dt.timedelta(hours=6)
        self._answer(
            {
                "AccessKeyId": f"KEY{self.server.issued}",
                "SecretAccessKey": f"secret{self.server.issued}",
                "Token": f"token{self.server.issued}",
                "Expiration": f"{expires:%Y-%m-%dT%H:%M:%SZ}",
            }
        )

    def do_POST(self) -> None:
        """Find no item."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        (found,) = ACCESS_KEY.findall(self.headers["Authorization"])
        self.server.requests.append(
            {
                "partition": body["Key"]["PK"]["S"],
                "process": body["Key"]["SK"]["S"],
                "key": found,
                "token": self.headers["X-Amz-Security-Token"],
                "connection": self.client_address,
            }
        )
        self._answer({}, 400 if self.server.fails else 200)

    def _answer(self, answer: dict[str, Any], status: int = 200) -> None:
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


@pytest.fixture
def amazon() -> Iterator[Amazon]:
    with Amazon() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def restore_twice(amazon: Amazon) -> dict[str, Any]:
    """What the process and its two copies did."""
    address = f"http://127.0.0.1:{amazon.server_port}"
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.snapshot_process", address],
        cwd=ROOT,
        env={
            **kept,
            "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "functions"))),
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{address}/credentials",
            "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
            INITIALIZATION_TYPE: SNAP_START,
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_restored_copies_have_nothing_in_common(amazon: Amazon) -> None:
    found = restore_twice(amazon)
    first, second = found["copies"]
    for name in ("process", "random", "uuid", "secret"):
        assert first[name] != second[name], name
    assert [each["built"] for each in (first, second)] == [1, 1]
    assert [each["announced"] for each in (first, second)] == [False, False]


def test_restored_copies_have_new_credentials_that_both_clients_use(amazon: Amazon) -> None:
    """The credentials of the snapshot are valid still: botocore would keep them."""
    restore_twice(amazon)
    assert [(each["key"], each["token"]) for each in amazon.requests] == [
        ("KEY1", "token1"),
        ("KEY2", "token2"),
        ("KEY3", "token3"),
    ]


def test_a_snapshot_has_no_connections_and_each_copy_opens_its_own(amazon: Amazon) -> None:
    found = restore_twice(amazon)
    before, first, second = amazon.requests
    assert before["partition"] == "#backfill"  # the request that warms the clients up
    assert len({each["connection"] for each in (before, first, second)}) == 3
    assert found["initial"]["sockets"] == 0
    # Of the table, and of the endpoint of the credentials.
    assert [each["sockets"] for each in found["copies"]] == [2, 2]
    assert [first["process"], second["process"]] == [each["process"] for each in found["copies"]]


class Table:
    """A table that does not answer."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def get(self, key: Any) -> None:
        raise self.error


def test_a_snapshot_is_taken_although_the_table_does_not_answer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    api = LazyApi()
    SnapshotHooks(api, Table(UnavailableError("away")), Older()).prepare()  # type: ignore[arg-type]
    assert api.built == 1
    assert "without a request of the table: away" in caplog.text


def test_a_refused_request_fails_the_snapshot() -> None:
    hooks = SnapshotHooks(LazyApi(), Table(RefusedError("wrong")), Older())  # type: ignore[arg-type]
    with pytest.raises(RefusedError, match="wrong"):
        hooks.prepare()


@pytest.mark.parametrize(
    ("environ", "hooks"),
    [({}, 0), ({INITIALIZATION_TYPE: "on-demand"}, 0), ({INITIALIZATION_TYPE: SNAP_START}, 1)],
)
def test_hooks_are_registered_for_a_snapshot_only(
    monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], hooks: int
) -> None:
    registry, api = Registry(), LazyApi()
    monkeypatch.setitem(sys.modules, HOOKS, registry)
    returned: object = add_snapshot_hooks(api, Table(ValueError()), Older(), environ)  # type: ignore[arg-type]
    assert returned is api
    assert (len(registry.before), len(registry.after)) == (hooks, hooks)


def test_a_runtime_without_the_package_fails_the_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without hooks, copies of the snapshot would have the same state."""
    monkeypatch.setitem(sys.modules, HOOKS, None)
    environ = {INITIALIZATION_TYPE: SNAP_START}
    with pytest.raises(ModuleNotFoundError, match=HOOKS):
        add_snapshot_hooks(LazyApi(), Table(ValueError()), Older(), environ)  # type: ignore[arg-type]
