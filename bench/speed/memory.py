"""Memory of the functions: at the start, at the largest batch, and after 50 invocations.

Each function runs in a process of its own with AWS's answers stubbed, two at a time. `project` gets
1,000 records and `archive` 5,400, both in the 6 MB that Lambda passes on at most. `rollup` finds
tallies with the slots of 260 open stream shards, one for each thread. `api` answers a page of 2 MB,
and the OpenAPI document of the demonstration.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bench.speed.api import Route
from bench.speed.figures import Figure
from bench.speed.invocation import ENVIRON
from bench.speed.stream_events import SHARD, STREAM, build_event
from daicho import Aggregate, Count, Domain, Entity, Expires, Key, field, uid
from daicho.declare.registry import Daicho
from daicho.handlers.wiring.dependencies import AWS_DEPENDENCIES
from daicho.layout import item_keys
from daicho.layout.base_item import build_base_item
from daicho.plan import Ledger
from daicho.runtime.clock import utc_now
from daicho.storage.attributes import Image, to_image, to_value
from daicho.tally import slots
from daicho_cli.cost.footprint import MEMORY_MB

ROOT = Path(__file__).parents[2]
TENANT, DEVICE = "acme", "pump-7"
PROJECT_RECORDS, PROJECT_NOTE = 1_000, 5_200
ARCHIVE_RECORDS, ARCHIVE_NOTE = 5_400, 238
"""Numbers of records, and characters of a note such that the event has 6 MB."""
GROUPS = 10
TALLIES = AWS_DEPENDENCIES.parallelism
SLOTS = 3 * 260
"""The slots of a tally at its ceiling of open stream shards, with three slots for each of them."""
PAGE_ITEMS, MESSAGE = 100, 20_000
INVOCATIONS, FULL_INVOCATIONS = 50, 200
PROCESSES = 2
SECONDS = 300
MAX_SHARE = 0.6
MAX_GROWTH_MIB = 8.0
"""A few buffers of the allocator. A leak of 0.4 MiB an invocation exceeds it."""
CannedAnswer = tuple[str, str, str]
"""An operation, text that its request contains, and the body of the answer."""


class Parcel(Entity):
    """An item of about 1 KB with its image, which is counted, and archived when it expires."""

    id: str = uid()
    group: str = field()
    note: str = field()

    key = Key(id)
    by_group = Aggregate(Count(), group, on_expiry="keep")
    expires = Expires(dt.timedelta(days=1), archive=True)


@dataclass(frozen=True)
class Case:
    """A function with its largest event, and the answers that it gets."""

    function: str
    event: Mapping[str, Any]
    answers: Sequence[CannedAnswer] = ()
    title: str = ""


@dataclass(frozen=True)
class Memory:
    """Peaks of a function in MiB by step, and how far it grew from the 21st invocation on."""

    peaks: Mapping[str, float]
    growth: float


@cache
def load_ledger() -> Ledger:
    """The ledger with the entity alone."""
    return Daicho(Domain("memory", Parcel)).append_generations(Ledger())


def measure_figures(*, full: bool) -> list[Figure]:
    """Peak memory of each function, beside its share of the function's setting, and its growth."""
    invocations = FULL_INVOCATIONS if full else INVOCATIONS
    cases = [
        build_archive_case(),
        build_rollup_case(),
        build_project_case(),
        build_page_case(),
        Case("api", Route("", "GET", "/openapi.json").build_event(), title=", OpenAPI document"),
    ]
    with ThreadPoolExecutor(PROCESSES) as pool:
        memories = pool.map(lambda case: measure_case(case, invocations), cases)
        return [
            figure
            for case, memory in zip(cases, memories, strict=True)
            for figure in make_figures(case, memory, invocations)
        ]


def make_figures(case: Case, memory: Memory, invocations: int) -> Iterable[Figure]:
    """The peak, and how far the function grew while it was invoked."""
    megabytes = MEMORY_MB[case.function]
    steps = ", ".join(f"{step} {peak:.0f}" for step, peak in memory.peaks.items())
    name, detail = case.function + case.title, f"{steps}; the function has {megabytes:,}"
    peak = max(memory.peaks.values())
    yield Figure(f"{name}: peak", peak, "at most", megabytes * MAX_SHARE, "MiB", detail)
    growth = f"{name}: growth over {invocations} invocations"
    yield Figure(growth, memory.growth, "at most", MAX_GROWTH_MIB, "MiB")


def build_project_case() -> Case:
    """New items, as large as an event can have of a full batch."""
    images = (build_parcel(number, PROJECT_NOTE) for number in range(PROJECT_RECORDS))
    return Case("project", build_event((None, image) for image in images))


def build_archive_case() -> Case:
    """Expired items. The mapping sends up to 10,000; these have as many as fit with 1 KB each."""
    images = (build_parcel(number, ARCHIVE_NOTE) for number in range(ARCHIVE_RECORDS))
    event = build_event((image, None) for image in images)
    for record in event["Records"]:
        record["userIdentity"] = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
    return Case("archive", event)


def build_rollup_case() -> Case:
    """Tallies at their ceiling of slots, one of which is dirty."""
    tallies = [render_tally(f"group {number}") for number in range(TALLIES)]
    marks = [build_slot(tally, 0) for tally in tallies]
    page = [build_slot(tallies[0], number) for number in range(SLOTS)]
    shards = {"Item": {"shards": {"N": ENVIRON["DIRTY_SHARDS"]}}}
    return Case(
        "rollup",
        {},
        [
            ("GetItem", '"shards"', json.dumps(shards)),
            ("DescribeTable", "", json.dumps({"Table": {"LatestStreamArn": STREAM}})),
            ("DescribeStream", "", json.dumps({"StreamDescription": {"Shards": []}})),
            ("Query", f'"{slots.render_dirty_partition(0)}"', write_page(marks)),
            ("Query", f'"{render_tally("")}', write_page(page)),
        ],
    )


def build_page_case() -> Case:
    """A list of reports that reaches the largest page, read in two queries of 1 MB."""
    ledger = Ledger.load_newest(ROOT / "functions/generations.json")
    generation, now = ledger.current_generation("Report"), utc_now()
    images = [
        build_base_item(
            TENANT,
            generation,
            to_image({"device": DEVICE, "at": now, "id": f"{n:03}", "message": "x" * MESSAGE}),
            now,
        )
        for n in range(PAGE_ITEMS)
    ]
    last = {name: images[PAGE_ITEMS // 2 - 1][name] for name in ("PK", "SK")}
    route = Route("", "GET", f"/devices/{DEVICE}/reports", f"limit={PAGE_ITEMS}")
    return Case(
        "api",
        route.build_event(),
        [
            ("Query", '"ExclusiveStartKey"', write_page(images[PAGE_ITEMS // 2 :])),
            ("Query", "", write_page(images[: PAGE_ITEMS // 2], last)),
        ],
        ", page of 2 MB",
    )


def build_parcel(number: int, note_length: int) -> Image:
    """A base item as the API writes it."""
    fields = {
        "id": f"{number:020x}",
        "group": f"group {number % GROUPS}",
        "note": "left at the door "[number % GROUPS :].ljust(note_length, "x"),
    }
    generation = load_ledger().current_generation("Parcel")
    return build_base_item(TENANT, generation, to_image(fields), utc_now())


def render_tally(group: str) -> str:
    """The partition key of a group's tally."""
    plan = load_ledger().current_generation("Parcel").plan
    (aggregate,) = plan.aggregates
    return item_keys.render_tally_partition(TENANT, plan, aggregate, (), (group,))


def build_slot(tally: str, number: int) -> Image:
    """The slot of a stream shard; that of the first is dirty."""
    key, now = slots.build_slot_key(tally, f"{SHARD[:-8]}{number:08x}"), utc_now()
    dirty = {
        "GSI2PK": {"S": slots.render_dirty_partition(0)},
        "GSI2SK": {"S": now.isoformat()},
    }
    return {
        "PK": {"S": key.pk},
        "SK": {"S": key.sk},
        "seq": {"S": f"{number:040}"},
        "items": to_value(number),
        "total": to_value(number),
        "rev": {"N": "7"},
        "at": to_value(int(now.timestamp())),
        **({} if number else dirty),
    }


def write_page(images: Sequence[Image], last: Image | None = None) -> str:
    """The body of the answer to a query."""
    more = {"LastEvaluatedKey": last} if last else {}
    return json.dumps({"Items": images, "Count": len(images), "ScannedCount": 1, **more})


def measure_case(case: Case, invocations: int) -> Memory:
    """The memory of one function.

    Raises:
        RuntimeError: the function failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "event.json").write_text(json.dumps(case.event), "utf-8")
        Path(folder, "answers.json").write_text(json.dumps(case.answers), "utf-8")
        environ = {**os.environ, **ENVIRON, "PYTHONPATH": os.pathsep.join(list_folders())}
        environ.pop("AWS_ENDPOINT_URL", None)
        if case.function != "api":
            lock_file = Path(folder, "generations.json")
            lock_file.write_text(json.dumps(load_ledger().to_json()), "utf-8")
            environ["LOCK_FILE"] = str(lock_file)
        command = [sys.executable, "-m", "bench.speed.function_memory", case.function]
        run = subprocess.run(  # noqa: S603 - this interpreter, and a module of this folder
            [*command, folder, str(invocations)],
            cwd=ROOT,
            env=environ,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    if run.returncode:
        raise RuntimeError(run.stderr)
    return Memory(**json.loads(run.stdout.splitlines()[-1]))


def list_folders() -> Iterable[str]:
    """The folders that the functions import from."""
    return [str(ROOT), str(ROOT / "functions"), str(ROOT / "demonstration")]
