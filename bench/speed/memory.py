"""Memory of the functions: at the start, at the largest batch, and after 50 invocations.

Each function runs in a process of its own with AWS's answers stubbed. `project` gets 6,400 records
of about 1 KB and `archive` as many removals, which is the 6 MB that Lambda passes on. `api` answers
its largest page, the OpenAPI document of the demonstration.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from bench.speed.figures import Figure
from bench.speed.stream_events import build_event
from bench.speed.stubbed_http import CREDENTIALS
from daicho import Aggregate, Count, Domain, Entity, Expires, Key, field, uid
from daicho.cost.footprint import STACK
from daicho.declare.registry import Daicho
from daicho.layout.base_item import build_base_item
from daicho.plan import Ledger
from daicho.runtime.clock import utc_now
from daicho.storage.attributes import Image, to_image
from tests.support.stream_pump import environment

ROOT = Path(__file__).parents[2]
RECORDS = 6_400
NOTE = "left at the door " * 14
GROUPS = 10
INVOCATIONS, FULL_INVOCATIONS = 50, 200
SECONDS = 300
MAX_SHARE = 0.6
MAX_GROWTH_MIB = 8.0
"""Most growth of the peak between the 5th and the last invocation: a few buffers of the
allocator."""


class Parcel(Entity):
    """An item of about 1 KB with its image, which is counted, and archived when it expires."""

    id: str = uid()
    group: str = field()
    note: str = field()

    key = Key(id)
    by_group = Aggregate(Count(), group, on_expiry="keep")
    expires = Expires(dt.timedelta(days=1), archive=True)


@cache
def load_ledger() -> Ledger:
    """The ledger with the entity alone."""
    return Daicho(Domain("memory", Parcel)).append_generations(Ledger())


def measure_figures(*, full: bool) -> list[Figure]:
    """Peak memory of each function as a share of its setting, and its growth."""
    invocations = FULL_INVOCATIONS if full else INVOCATIONS
    figures = []
    for function, event in build_events().items():
        peaks = measure_function(function, event, invocations)
        megabytes = STACK.memory_mb[function]
        steps = ", ".join(f"{step} {peak:.0f}" for step, peak in peaks.items())
        last = peaks[f"after {invocations}"]
        figures.append(
            Figure(
                f"{function}: peak memory",
                last,
                threshold=megabytes * MAX_SHARE,
                unit="MiB",
                detail=f"{steps}; the function has {megabytes:,}",
            )
        )
        figures.append(
            Figure(
                f"{function}: growth from the 5th to invocation {invocations}",
                last - peaks["after 5"],
                threshold=MAX_GROWTH_MIB,
                unit="MiB",
            )
        )
    return figures


def build_events() -> dict[str, dict[str, Any]]:
    """The largest event of each function."""
    images = [build_parcel(number) for number in range(RECORDS)]
    removals = build_event((image, None) for image in images)
    by_ttl = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
    for record in removals["Records"]:
        record["userIdentity"] = by_ttl
    request = {
        "version": "2.0",
        "rawPath": "/openapi.json",
        "rawQueryString": "",
        "headers": {},
        "requestContext": {
            "http": {"method": "GET", "path": "/openapi.json"},
            "stage": "$default",
            "requestId": "r",
        },
        "isBase64Encoded": False,
    }
    return {
        "project": build_event((None, image) for image in images),
        "archive": removals,
        "api": request,
    }


def build_parcel(number: int) -> Image:
    """A base item as the API writes it."""
    fields = {"id": f"{number:020x}", "group": f"group {number % GROUPS}", "note": NOTE}
    generation = load_ledger().current_generation("Parcel")
    return build_base_item("acme", generation, to_image(fields), utc_now())


def measure_function(
    function: str, event: Mapping[str, Any], invocations: int
) -> Mapping[str, float]:
    """The peaks of one function, in MiB, by step.

    Raises:
        RuntimeError: the function failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        event_file, lock_file = Path(folder, "event.json"), Path(folder, "generations.json")
        event_file.write_text(json.dumps(event), "utf-8")
        environ = {**os.environ, **CREDENTIALS, **environment("daicho", ARCHIVE_BUCKET="archive")}
        environ |= {"PYTHONPATH": os.pathsep.join(list_folders()), "AWS_XRAY_SDK_ENABLED": "false"}
        environ["DIRTY_SHARDS"] = "16"
        environ.pop("AWS_ENDPOINT_URL", None)
        if function in ("project", "archive"):
            lock_file.write_text(json.dumps(load_ledger().to_json()), "utf-8")
            environ["LOCK_FILE"] = str(lock_file)
        command = [sys.executable, "-m", "bench.speed.function_memory", function]
        run = subprocess.run(  # noqa: S603 - this interpreter, and a module of this folder
            [*command, str(event_file), str(invocations)],
            cwd=ROOT,
            env=environ,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    if run.returncode:
        raise RuntimeError(run.stderr)
    peaks: dict[str, float] = json.loads(run.stdout.splitlines()[-1])
    return peaks


def list_folders() -> Iterable[str]:
    """The folders that the functions import from."""
    return [str(ROOT), str(ROOT / "functions"), str(ROOT / "demonstration")]
