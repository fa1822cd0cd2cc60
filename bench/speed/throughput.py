"""Throughput of derivation: contacts with 37 derived items each, a second and stream shard.

The time of requests and the units of partitions are those of a model (`partition_model`); the
projector, the records and the answers are real. Processor time is measured in other runs, with
HTTP stubbed.
"""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any
from unittest import mock

import domains
from bench.search.contact_generator import Contact, Crowd
from bench.speed.figures import Figure, compare_in_pairs
from bench.speed.invocation import CREDENTIALS
from bench.speed.partition_model import ModelClient, ModelClock, simulate_pool
from bench.speed.stubbed_http import StubbedHttp
from daicho.declare.registry import Daicho
from daicho.derive.derived_items import compute_index_rows
from daicho.handlers.wiring.dependencies import AWS_DEPENDENCIES
from daicho.items.mapper import to_field_image
from daicho.layout.base_item import build_base_item
from daicho.plan import Ledger
from daicho.runtime.retry import RetryBudget
from daicho.storage.attributes import Image
from daicho.storage.table import Table, open_table
from daicho.stream import batch_writer
from daicho.stream.projector import Projector
from daicho.stream.records import Batch
from domains import contacts as declared
from tests.support.memory_stores import MemoryBucket
from tests.support.stream_events import Change, build_batch

THREADS = AWS_DEPENDENCIES.parallelism
THREADS_BEFORE = 8
"""The requests in flight of commit 02b6d8e, each with one write."""
CONTACTS = 400
"""Of one batch. The mapping sends up to 1,000 records."""
CROWD = 100_000
DERIVED = 37
CPU_CONTACTS = 100
INVOCATION_S = 280.0
TENANT = "acme"


@dataclass(frozen=True)
class Run:
    """One way of writing on one table. ``batch``: the largest batch of inserts."""

    client: ModelClient
    projector: Projector
    batch: int

    @classmethod
    def start(cls, ledger: Ledger, threads: int, batch: int) -> Run:
        """An empty table."""
        client: Any = ModelClient(ModelClock())
        with simulate_pool(client.clock):
            projector = Projector(
                Table(client, "daicho"), MemoryBucket(), ledger, dirty_shards=4, threads=threads
            )
        return cls(client, projector, batch)

    def project(self, changes: Sequence[Change], first: int) -> tuple[float, float]:
        """Project one batch: contacts a second, and the units that a contact took."""
        clock, before = self.client.clock, self.client.units
        began = clock.now
        budget = RetryBudget(
            lambda: INVOCATION_S - (clock.now - began), 20.0, sleep=clock.sleep, random=lambda: 0.5
        )
        with mock.patch.object(batch_writer, "MAX_BATCH", self.batch):
            failed = self.projector.project(build_batch(*changes, first=first), budget)
        if failed is not None:
            raise RuntimeError(f"not done from {failed} on")
        units = (self.client.units - before) / len(changes)
        return len(changes) / (clock.now - began), units


def measure_figures(*, full: bool) -> list[Figure]:
    """Contacts a second in the model, units, and processor time."""
    logging.disable(logging.WARNING)  # throttled writes are part of the model
    ledger = Daicho.discover(domains).check_locked(Ledger.load())
    images = build_images(ledger, CONTACTS)
    ours = Run.start(ledger, THREADS, batch_writer.MAX_BATCH)
    before = Run.start(ledger, THREADS_BEFORE, 1)
    figures: list[Figure] = []
    renamed = [rename(image) for image in images]
    ways: dict[str, list[Change]] = {
        "created": [(None, image) for image in images],
        "renamed": list(zip(images, renamed, strict=True)),
        "deleted": [(image, None) for image in renamed],
    }
    for number, (name, changes) in enumerate(ways.items()):
        first = 1 + number * CONTACTS
        (rate, units), (rate_before, units_before) = (
            run.project(changes, first) for run in (ours, before)
        )
        detail = f"02b6d8e's way {rate_before:,.0f}; {THREADS} requests in flight"
        threshold = 240 if name == "created" else None
        figures += [
            Figure(f"contacts {name}", rate, "at least", threshold, "per second and shard", detail),
            Figure(f"... units of a contact {name}", units, "at most", units_before, "units"),
        ]
    check_equal(ours.client, before.client)
    figures += _measure_alternatives(ledger, ways["created"])
    return figures + _measure_processor_time(ledger, ways["created"], pairs=40 if full else 20)


def _measure_alternatives(ledger: Ledger, changes: Sequence[Change]) -> list[Figure]:
    """Other numbers of requests in flight, with and without batches."""
    rates = {
        (batch, threads): Run.start(ledger, threads, batch).project(changes, 1)[0]
        for batch, threads in ((1, 16), (1, THREADS), (25, 8), (25, 16))
    }
    return [
        Figure(f"created, {threads} in flight, {batch} a request", rate, unit="per second")
        for (batch, threads), rate in rates.items()
    ]


def _measure_processor_time(
    ledger: Ledger, changes: Sequence[Change], *, pairs: int
) -> list[Figure]:
    """Processor time of a contact: batches beside single puts, with HTTP stubbed."""
    batch = build_batch(*changes[:CPU_CONTACTS])
    with mock.patch.dict("os.environ", CREDENTIALS), StubbedHttp():
        project_ours = _build_projection(ledger, batch, THREADS, batch_writer.MAX_BATCH)
        project_singly = _build_projection(ledger, batch, THREADS, 1)
        compared = compare_in_pairs(project_ours, project_singly, pairs=pairs)
    milliseconds = sorted(compared.ours)[len(compared.ours) // 2] * 1e3 / CPU_CONTACTS
    detail = compared.describe(1e3 / CPU_CONTACTS, "ms a contact").replace("peer", "single puts")
    return [
        Figure("processor time of a contact", milliseconds, unit="ms", detail=detail),
        Figure("contacts that one vCPU derives", 1e3 / milliseconds, unit="per second"),
    ]


def _build_projection(ledger: Ledger, batch: Batch, threads: int, size: int) -> Any:
    table = open_table("daicho", connections=threads, region="us-east-1")
    projector = Projector(table, MemoryBucket(), ledger, dirty_shards=4, threads=threads)

    def measure() -> float:
        began = time.process_time()
        with mock.patch.object(batch_writer, "MAX_BATCH", size):
            if projector.project(batch, RetryBudget.for_seconds(60)) is not None:
                raise RuntimeError("not done")
        return time.process_time() - began

    return measure


def build_images(ledger: Ledger, count: int) -> list[Image]:
    """Generated contacts that derive exactly 37 items: with two names of the generator each."""
    plan = ledger.current_generation("Contact").plan
    pairs = batched_pairs(Crowd(CROWD, TENANT))
    images = (
        _build_image(
            ledger,
            replace(
                one,
                name=f"{one.name} {other.name}",
                company=f"{one.company} {other.company}".strip(),
            ),
        )
        for one, other in pairs
    )
    chosen = (image for image in images if len(compute_index_rows(plan, image)) == DERIVED)
    return list(islice(chosen, count))


def batched_pairs(crowd: Crowd) -> Iterator[tuple[Contact, Contact]]:
    """Two contacts each."""
    contacts = iter(crowd)
    return zip(contacts, contacts, strict=False)


def _build_image(ledger: Ledger, contact: Contact) -> Image:
    values = {
        "id": contact.id,
        "created": contact.created,
        "name": contact.name,
        "company": contact.company,
        "phone": contact.phone,
        "email": contact.email,
        "categories": {category.id for category in contact.categories},
    }
    generation = ledger.current_generation("Contact")
    fields = to_field_image(declared.Contact, values)
    return build_base_item(TENANT, generation, fields, contact.created)


def rename(image: Image) -> Image:
    """The same contact with another name: its given name and surname change places."""
    return {**image, "name": {"S": " ".join(reversed(image["name"]["S"].split()))[::-1]}}


def check_equal(ours: ModelClient, before: ModelClient) -> None:
    """Both ways end with the same items."""
    tables = [
        Counter(
            json.dumps({**item, "ttl": None}, sort_keys=True)
            for key, item in client.store.items
            if "~" in key.pk
        )
        for client in (ours, before)
    ]
    if tables[0] != tables[1] or len(tables[0]) < CONTACTS * DERIVED:
        raise RuntimeError("the two ways end with different items")
