"""The start of each function against a bare boto3 client for DynamoDB.

A start is the processor time of a fresh interpreter until the function's ``handler`` is built, as
Lambda's init phase does it, with compiled modules cached.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from bench.speed.figures import PAIRS, Figure, compare_in_pairs
from bench.speed.invocation import ENVIRON

ROOT = Path(__file__).parents[2]
WORKER = Path(__file__).with_name("start_worker.py")
STREAM, API = 1.05, 1.7
"""Thresholds: of the stream and scheduled functions, and of the API."""
MAIN = ("project", "archive", "rollup", "sweep", "audit", "forget", "api")
"""The stream and scheduled functions, and the API."""
OTHERS = ("redrive", "jobs", "release", "tokens")
FEW_PAIRS = 5
_OWN_SETTINGS = ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "PYTHONPYCACHEPREFIX")


def measure_figures() -> list[Figure]:
    """The ratios of all functions; those of `MAIN` in 20 pairs, the others in 5."""
    with tempfile.TemporaryDirectory() as cache:
        return [_compare(cache, name) for name in (*MAIN, *OTHERS)]


def _compare(cache: str, name: str) -> Figure:
    """A function against the peer, in pairs; compiled modules are kept in the folder ``cache``."""
    pairs = PAIRS if name in MAIN else FEW_PAIRS
    compared = compare_in_pairs(
        partial(measure, cache, name), partial(measure, cache, "bare"), pairs=pairs
    )
    threshold, detail = API if name == "api" else STREAM, compared.describe(1_000, "ms")
    return Figure(f"start of {name}", compared.ratio, "at most", threshold, detail=detail)


def measure(cache: str, name: str) -> float:
    """Seconds of processor time of one fresh interpreter, which the worker reports."""
    run = subprocess.run(  # noqa: S603  # a fixed command
        [sys.executable, str(WORKER), name],
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
