"""The trial of size: a verification of a table without damage, and then with some.

Each run is in a process of its own, which tells its peak of memory. The table is a file that is
written without requests, as the projector and a rollup would have left it.
"""

from __future__ import annotations

import os
import random
import resource
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from bench.rebuild.workers import SPAWN, Invocation, make_dependencies
from bench.search.dynoxide_file import Layout, create, insert
from daicho import Aggregate, Domain, Entity, Key, Listing, Sum, field
from daicho.declare.registry import Daicho
from daicho.derive.contributions import Amount, compute_contributions
from daicho.derive.derived_items import build_derived_item, compute_index_rows
from daicho.handlers import project, rollup
from daicho.layout.base_item import build_base_item
from daicho.plan import Ledger
from daicho.plan.event_filters import HEARTBEAT_TYPE
from daicho.runtime.clock import utc_now
from daicho.runtime.retry import RetryBudget
from daicho.storage import keys
from daicho.storage.attributes import Image, to_image
from daicho.storage.protocols import DescribesStream, StreamShard, apply_update
from daicho.storage.requests import Query
from daicho.storage.table import open_table
from daicho.stream.records import render_sequence
from daicho.tally import slots
from daicho.verify.job import VerifyJob, find_verification, request_verification
from daicho.verify.verify import VerifyWorker
from tests.support.dynoxide import client, create_table, serving
from tests.support.memory_stores import MemoryBucket
from tests.support.stream_pump import SHARD, Consumer, Pump, environment

TENANT, TABLE, GROUPS, BLOCK = "acme", "daicho-verified", 200, 20_000
FIRST_NUMBER = render_sequence("1", "1")
"""The number of the record that derived everything: lower than any of the stream."""


class Sale(Entity):
    """A sale, listed by its state, and summed by its country."""

    id: str = field()
    state: str = field()
    country: str = field()
    amount: int = field()
    key = Key(id)
    of_state = Listing(state)
    by_country = Aggregate(Sum(amount), country)


LEDGER = Daicho(Domain("trials", Sale)).append_generations(Ledger())


@dataclass(frozen=True)
class SizeResult:
    """One run. ``bytes``: the peak of memory of its process. Units are those of the run alone."""

    items: int
    seconds: float
    bytes: int
    read_units: float
    write_units: float
    found: int
    outcome: str


def run_size_trial(items: int, damaged: int = 0) -> list[SizeResult]:
    """Verify a table without damage.

    If rows are to be ``damaged``, repair them in a second run, and verify once more.
    """
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder, "table.db")
        create(database, TABLE, create_table)
        layout = Layout.of(database, TABLE)
        totals: dict[str, Amount] = {}
        insert(database, map(layout.rows, list_blocks(items, totals)))
        with (
            serving(database) as endpoint,
            ProcessPoolExecutor(1, mp_context=SPAWN, max_tasks_per_child=1) as pool,
        ):
            pool.submit(count_totals, endpoint, totals).result()
            results = [pool.submit(verify, endpoint, items, repair=False).result()]
            if damaged:
                pool.submit(damage_rows, endpoint, items, damaged).result()
                for repair in (True, False):
                    results.append(pool.submit(verify, endpoint, items, repair=repair).result())
    return results


def list_blocks(items: int, totals: dict[str, Amount]) -> Iterator[list[Image]]:
    """The base items and their rows; ``totals`` gets the amount of each tally."""
    generation, now = LEDGER.current_generation("Sale"), utc_now()
    for begin in range(0, items, BLOCK):
        block: list[Image] = []
        for number in range(begin, min(begin + BLOCK, items)):
            fields = {"id": f"s{number:07}", "state": f"state {number % 7}", "amount": number % 97}
            values = to_image({**fields, "country": f"c{number % GROUPS:03}"})
            image = build_base_item(TENANT, generation, values, now)
            for tally, amount in compute_contributions(generation.plan, image).items():
                totals[tally] = totals.get(tally, Amount()) + amount
            rows = compute_index_rows(generation.plan, image)
            derived = (build_derived_item(key, rows[key], FIRST_NUMBER, now) for key in rows)
            block += [image, *derived]
        yield block


class Stage(DescribesStream):
    """The table in one process, its stream, and the function that consumes it."""

    def __init__(self, endpoint: str) -> None:
        os.environ["AWS_ENDPOINT_URL"] = endpoint
        self.table = open_table(TABLE).with_metering()
        self.table_name, self.endpoint = TABLE, endpoint
        dependencies = make_dependencies(self)  # type: ignore[arg-type]  # it is used as a stream
        settings = environment(TABLE, DIRTY_SHARDS="4")
        self.roll_up = rollup.build(settings, LEDGER, dependencies)
        projector = project.build(settings, LEDGER, dependencies)
        consumer = Consumer(projector, (*LEDGER.derived_types, HEARTBEAT_TYPE))
        self.pump = Pump(client(endpoint), endpoint, TABLE, [consumer])

    def list_shards(self) -> tuple[StreamShard, ...]:
        """The one shard of a stream of Dynoxide."""
        return (StreamShard(SHARD),)


def count_totals(endpoint: str, totals: dict[str, Amount]) -> None:
    """Write the slots of all tallies, and let a rollup write their totals."""
    stage = Stage(endpoint)
    for tally, amount in totals.items():
        key = slots.build_slot_key(tally, SHARD)
        last, now = FIRST_NUMBER, utc_now()
        apply_update(stage.table, slots.add_delta(key, amount, last, last, dirty_shards=4, now=now))
    stage.roll_up({}, Invocation())


def damage_rows(endpoint: str, items: int, damaged: int) -> None:
    """Remove the rows of some items, by hand."""
    stage, plan = Stage(endpoint), LEDGER.current_generation("Sale").plan
    for number in random.Random(1).sample(range(items), damaged):  # noqa: S311  # it chooses items
        key = keys.render(TENANT, "Sale", f"s{number:07}")
        (image,) = (
            image
            for page in stage.table.query_pages(Query(key, consistent=True))
            for image in page.items
        )
        stage.table.batch_write(deletes=list(compute_index_rows(plan, image)))


def verify(endpoint: str, items: int, *, repair: bool) -> SizeResult:
    """Run a verification to its end, in steps of its own."""
    stage = Stage(endpoint)
    stage.pump.run()

    def wait(seconds: float) -> None:
        if not stage.pump.run():
            time.sleep(min(seconds, 0.2))

    worker = VerifyWorker(
        store=stage.table,
        now=utc_now,
        settle=1,
        segments=1,  # Dynoxide reads the whole table for each segment
        parallelism=1,
        stream=stage,
        failures=MemoryBucket(),
        ledger=LEDGER,
    )
    began = time.monotonic()
    asked = VerifyJob("", keys.render_instant(utc_now()), repair=repair)
    job = request_verification(stage.table, asked, LEDGER)
    stage.table.budget.take_total()
    while True:
        invocation = Invocation(120)
        budget = RetryBudget.for_invocation(
            invocation.get_remaining_time_in_millis, sleep=wait, random=random.random
        )
        step = worker.run_step(job.machine_input["job"], budget)
        if step.done:
            break
        wait(step.wait)
    seconds = time.monotonic() - began
    found = find_verification(stage.table)
    if found is None or found.state != "succeeded":
        raise RuntimeError(f"the verification did not end: {found}")
    more_read, more_written = stage.table.budget.take_total()  # after the scan
    read = found.counts["read_units"] + more_read
    written = found.counts["write_units"] + more_written
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1_024
    damage = int(found.counts.get("damage", 0))
    return SizeResult(items, seconds, peak, read, written, damage, str(found.outcome))
