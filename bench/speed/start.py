"""The start of each function against a bare boto3 client for DynamoDB.

A start is the processor time of a fresh interpreter until the function's ``handler`` is built, as
Lambda's init phase does it, with compiled modules cached. What a start leaves to the first
invocation is shown too: the processor time until the first invocation has returned, with an HTTP
session that answers each request at once on both sides; there the peer makes one request.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from bench.speed.figures import PAIRS, Comparison, Figure, compare_in_pairs
from bench.speed.invocation import ENVIRON
from bench.trace import build_contact_event
from daicho.runtime.token_claims import TENANT_CLAIM

ROOT = Path(__file__).parents[2]
WORKER = Path(__file__).with_name("start_worker.py")
STREAM, API = 1.05, 1.7
"""Thresholds: of the stream and scheduled functions, and of the API."""
MAIN = ("project", "archive", "rollup", "sweep", "audit", "forget", "api")
"""The stream and scheduled functions, and the API."""
OTHERS = ("redrive", "jobs", "release", "tokens")
FEW_PAIRS = 5
EVENTS = "events.json"
API_EVENT = {
    "version": "2.0",
    "routeKey": "ANY /{proxy+}",
    "rawPath": "/contacts/nobody",
    "rawQueryString": "",
    "headers": {},
    "requestContext": {
        "stage": "$default",
        "http": {"method": "GET", "path": "/contacts/nobody", "sourceIp": "127.0.0.1"},
        "requestId": "request",
        "authorizer": {"jwt": {"claims": {"sub": "somebody", TENANT_CLAIM: "acme"}}},
    },
    "isBase64Encoded": False,
}
"""A request for an item that does not exist."""
_OWN_SETTINGS = ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "PYTHONPYCACHEPREFIX")


def measure_figures(*, full: bool) -> list[Figure]:
    """The ratios of all functions; those of `MAIN` in 20 pairs, the others in 5 unless ``full``."""
    events = {"project": {"shardId": "shard", **build_contact_event()}, "api": API_EVENT}
    with tempfile.TemporaryDirectory() as cache:
        Path(cache, EVENTS).write_text(json.dumps(events), "utf-8")
        figures = []
        for name in (*MAIN, *OTHERS):
            pairs = PAIRS if full or name in MAIN else FEW_PAIRS
            comparison = compare(cache, "ready", name, pairs)
            threshold = API if name == "api" else STREAM
            figures.append(make_figure(f"start of {name}", comparison, threshold))
        for name in events:
            pairs = PAIRS if full else FEW_PAIRS
            comparison = compare(cache, "first", name, pairs)
            figures.append(make_figure(f"{name} through its first invocation", comparison, None))
        return figures


def compare(cache: str, until: str, name: str, pairs: int) -> Comparison:
    """A function against the peer, in pairs; compiled modules are kept in the folder ``cache``."""
    return compare_in_pairs(
        partial(measure, cache, until, name), partial(measure, cache, until, "bare"), pairs=pairs
    )


def make_figure(name: str, comparison: Comparison, threshold: float | None) -> Figure:
    """The ratio of a comparison beside its threshold."""
    return Figure(
        name, comparison.ratio, threshold=threshold, detail=comparison.describe(1_000, "ms")
    )


def measure(cache: str, until: str, name: str) -> float:
    """Seconds of processor time of one fresh interpreter, which the worker reports."""
    run = subprocess.run(  # noqa: S603  # a fixed command
        [sys.executable, str(WORKER), until, name, str(Path(cache, EVENTS))],
        cwd=ROOT,
        env=build_environ(cache),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if run.returncode:
        raise SystemExit(f"{name}: {run.stderr}")
    return float(run.stderr.splitlines()[-1])


def build_environ(cache: str) -> Mapping[str, str]:
    """The environment of both sides."""
    inherited = {name: value for name, value in os.environ.items() if name not in _OWN_SETTINGS}
    folders = os.pathsep.join((str(ROOT / "functions"), str(ROOT)))
    own = {"PYTHONPYCACHEPREFIX": cache, "PYTHONPATH": folders}
    return {**inherited, **ENVIRON, **own}
