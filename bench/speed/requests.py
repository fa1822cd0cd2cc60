"""Processor time of a request to DynamoDB: the lean path beside botocore's client.

Two comparisons: without a socket against a boto3 client with the same settings, and over a real
socket to Dynoxide against the table of commit 02b6d8e.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import boto3
from botocore.config import Config

from bench.speed.figures import Figure, compare_in_pairs
from bench.speed.invocation import CREDENTIALS
from bench.speed.stubbed_http import StubbedHttp
from daicho.storage.item_key import ItemKey
from daicho.storage.requests import Query
from daicho.storage.table import Table, open_table
from tests.support.dynoxide import client, create_table, serving

ROOT = Path(__file__).parents[2]
COMMIT = "02b6d8e"
REGION = CREDENTIALS["AWS_REGION"]
CALLS = 150
WRITES = 150
PAGE_ITEMS = 100
MOST_OF_BEFORE = 0.5
"""A write over a socket takes at most this share of the processor time of the older commit."""


def build_item(number: int) -> dict[str, Any]:
    """An item of ten attributes, as a list of an entity has."""
    values = {f"field{field}": {"S": f"value {number} of {field}"} for field in range(7)}
    return {
        "PK": {"S": "tenant#one"},
        "SK": {"S": f"order#{number:06}"},
        "total": {"N": str(number)},
        **values,
    }


ITEMS = [build_item(number) for number in range(PAGE_ITEMS)]
PAGE = {"Items": ITEMS, "Count": PAGE_ITEMS, "ScannedCount": PAGE_ITEMS}
ANSWERS: Mapping[str, bytes] = {
    "PutItem": b"{}",
    "UpdateItem": b"{}",
    "GetItem": json.dumps({"Item": ITEMS[0]}).encode(),
    "Query": json.dumps(PAGE).encode(),
}
WORK: Mapping[str, Callable[[Table], object]] = {
    "put": lambda table: table.put(ITEMS[0], condition="attribute_not_exists(PK)"),
    "update": lambda table: table.update(
        ItemKey("tenant#one", "total"),
        "ADD #total :amount",
        names={"#total": "total"},
        values={":amount": {"N": "1"}},
    ),
    "get": lambda table: table.get(ItemKey("tenant#one", "order#000001")),
    "query of 100": lambda table: table.query(Query("tenant#one")),
}


def open_boto3_table() -> Table:
    """The same table by a boto3 client, with the settings of `open_table`."""
    config = Config(
        retries={"mode": "standard", "total_max_attempts": 3},
        connect_timeout=1.0,
        read_timeout=5.0,
        max_pool_connections=16,
        parameter_validation=False,
    )
    return Table(boto3.client("dynamodb", config=config, region_name=REGION), "bench")


def measure_calls(work: Callable[[Table], object], table: Table) -> float:
    """Seconds of processor time of one call."""
    began = time.process_time()
    for _ in range(CALLS):
        work(table)
    return (time.process_time() - began) / CALLS


def compare_clients() -> list[Figure]:
    """Each operation by the lean path and by a boto3 client, without a socket."""
    figures = []
    with StubbedHttp(lambda operation, _: ANSWERS[operation]):
        ours, peer = open_table("bench", region=REGION), open_boto3_table()
        for name, work in WORK.items():
            compared = compare_in_pairs(
                lambda work=work: measure_calls(work, ours),  # type: ignore[misc]
                lambda work=work: measure_calls(work, peer),  # type: ignore[misc]
            )
            detail = compared.describe(1e6, "µs")
            figures.append(Figure(f"{name}, boto3 / lean", compared.speedup, detail=detail))
    return figures


class Writer:
    """A process that writes to a table with the code of one checkout."""

    def __init__(self, checkout: Path, endpoint: str, table: str, cache: Path) -> None:
        environ = {
            **os.environ,
            "PYTHONPATH": str(checkout / "functions"),
            "PYTHONPYCACHEPREFIX": str(cache),
        }
        script = ROOT / "bench/speed/writer.py"
        self.process = subprocess.Popen(  # noqa: S603  # a fixed command
            [sys.executable, str(script), endpoint, table],
            cwd=checkout,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def measure(self) -> float:
        """Seconds of processor time of one write."""
        given, answered = self.process.stdin, self.process.stdout
        assert given is not None and answered is not None  # noqa: S101
        given.write(f"{WRITES}\n")
        given.flush()
        return float(answered.readline()) / WRITES

    def close(self) -> None:
        """End the process: it has no more input."""
        self.process.communicate()


@contextmanager
def open_checkout(commit: str) -> Iterator[Path]:
    """The files of a commit, as a worktree of git that is removed at the end."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "before")
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(path), commit], check=True)  # noqa: S603
        try:
            yield path
        finally:
            subprocess.run([*git, "remove", "--force", str(path)], check=True)  # noqa: S603


def compare_commits() -> Figure:
    """A write over a socket to Dynoxide, beside the table of the older commit."""
    with ExitStack() as stack:
        before = stack.enter_context(open_checkout(COMMIT))
        cache = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        endpoint = stack.enter_context(serving())
        table = create_table(client(endpoint))
        writers = [
            Writer(checkout, endpoint, table, cache / str(number))
            for number, checkout in enumerate((ROOT, before))
        ]
        for writer in writers:
            stack.callback(writer.close)
        compared = compare_in_pairs(*(writer.measure for writer in writers))
    name = f"write over a socket, today / {COMMIT}"
    detail = compared.describe(1e6, "µs")
    return Figure(name, compared.ratio, "at most", MOST_OF_BEFORE, detail=detail)


def measure_figures(*, full: bool) -> list[Figure]:
    """Both comparisons; they are of one size."""
    del full
    with patch.dict(os.environ, CREDENTIALS):
        return [*compare_clients(), compare_commits()]
