"""The mixed run: what a traffic file describes, done with the library on Dynoxide.

The writes of a round come in a random order. Then the projector and the rollup run, and then the
reads come. Items that are changed, deleted and read were stored before the run.
"""

from __future__ import annotations

import datetime as dt
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from math import ceil
from typing import Any

import domains
from bench.cost import run_values
from bench.cost.metering import CostMeter
from daicho import Caller, Entity
from daicho.book.book import Book
from daicho.declare.entity import get_values
from daicho.declare.fields import new_id
from daicho.declare.queries import ItemRef
from daicho.declare.registry import Daicho
from daicho.layout.item_keys import build_base_key
from daicho.plan import Ledger
from daicho.runtime.clock import utc_now
from daicho.runtime.retry import RetryBudget
from daicho.storage.attributes import Image
from daicho.storage.requests import InsertOutcome
from daicho.storage.table import Table
from daicho.stream.projector import Projector
from daicho.stream.records import TTL_PROCESS, Batch
from daicho.sweep import Sweep
from daicho.tally.rollup import Rollup
from daicho.write.counter_writer import CounterSettings
from daicho.write.idempotency import IdempotentRequest, StoredAnswer
from daicho_cli.cost.estimate import Work
from daicho_cli.cost.examples import TENANT
from daicho_cli.cost.traffic import ChangeTraffic, EntityTraffic, FigureTraffic, Traffic
from domains import carts, polls, votes
from domains.carts import CartItem
from domains.documents import Document
from domains.polls import PollChange
from domains.votes import Ballot, Vote
from tests.support.dynoxide import client, create_table
from tests.support.memory_stores import MemoryBucket
from tests.support.stream_pump import Consumer, Pump

ROUNDS = 5
CALLER = Caller("mika", frozenset(), TENANT)
MINUTES = RetryBudget.for_seconds(600)
Operation = tuple[str, Work, Callable[[], object]]


class EmptyBucket(MemoryBucket):
    """A bucket to which no client has uploaded the objects of items."""

    def remove(self, key: str) -> None:
        """Remove an object; nothing happens, because there is none."""


class SingleInserts(Table):
    """A table that sends one item in a request, so that its units are those of one entity."""

    def insert_batch(self, items: Sequence[Image]) -> list[InsertOutcome]:
        """Insert items one after another."""
        return [outcome for item in items for outcome in Table.insert_batch(self, [item])]


@dataclass
class MixedRun:
    """A table, and the items of each entity that are in it."""

    endpoint: str
    traffic: Traffic
    draw: random.Random = field(default_factory=lambda: random.Random(1))  # noqa: S311
    stored: defaultdict[str, list[ItemRef[Any]]] = field(default_factory=lambda: defaultdict(list))
    expired: set[tuple[str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.dynamodb = client(self.endpoint)
        name = create_table(self.dynamodb)
        self.meter = CostMeter(self.dynamodb)
        self.table = SingleInserts(self.dynamodb, name)
        self.daicho = Daicho.discover(domains)
        self.ledger = self.daicho.check_locked(Ledger.load())
        self.bucket = EmptyBucket()
        self._examples: dict[ItemRef[Any], Mapping[str, Any]] = {}
        self._projector = Projector(self.table, self.bucket, self.ledger, dirty_shards=16)
        self._rollup = Rollup(self.table.with_metering(), self.ledger, dirty_shards=16)
        consumer = Consumer(self._project, self.ledger.derived_types)
        self._pump = Pump(self.dynamodb, self.endpoint, name, [consumer], batch=100_000)

    @property
    def book(self) -> Book:
        """A book for one request, which has cached nothing."""
        return Book(
            self.table,
            self.ledger,
            TENANT,
            parallelism=1,
            bucket=lambda: self.bucket,
            counter_settings=CounterSettings(once=self.table),
        )

    def prepare(self) -> None:
        """Store what the run refers to, changes, deletes and reads; not metered."""
        for items in (run_values.list_references(), run_values.list_page_items()):
            for item in items:
                self.book.create(item)
        for item in run_values.list_later_page_items():
            self.book.create(item)
        for name, traffic in self.traffic.entities.items():
            changes = sum(change.count for change in traffic.changes)
            needed = traffic.deletes + changes + traffic.expiries + (10 if traffic.reads else 0)
            moved = sum(t.changes.get(name, 0) * t.count for t in self.traffic.transactions)
            for number in range(int(needed + moved)):
                self._create(name, traffic, number)
        for number in range(100):
            vote = Vote(candidate=run_values.CANDIDATES[number % 3])
            votes.vote_without_name(self.book, CALLER, run_values.FAST_POLL, vote)
        self._settle()

    def play(self) -> None:
        """Do everything that the traffic file describes; metered."""
        for number in range(ROUNDS):
            writes = list(self._list_writes(number))
            self.draw.shuffle(writes)
            self._do(writes)
            with self.meter.processing("slots"):
                self._pump.run()
            with self.meter.processing("rollups"):
                self._rollup.run(MINUTES)
            reads = list(self._list_reads(number))
            self.draw.shuffle(reads)
            self._do(reads)
        with self.meter.processing("items"):
            later = utc_now() + dt.timedelta(hours=1)
            Sweep(self.table, lambda: self.bucket, lambda: later).run(MINUTES)

    def _settle(self) -> None:
        self._pump.run()
        self._rollup.run(MINUTES)

    def _do(self, operations: list[Operation]) -> None:
        for entity, work, operation in operations:
            with self.meter.working(entity, work):
                operation()

    def _list_writes(self, round_number: int) -> Iterator[Operation]:
        for name, traffic in self.traffic.entities.items():
            for number in _list_turns(traffic.creates, round_number):
                keyed = number % 2 < 2 * traffic.idempotent
                yield name, "items", self._later(self._create, name, traffic, number, keyed)
            for place, change in enumerate(traffic.changes):
                for number in _list_turns(change.count, round_number):
                    keyed = (number + place) % 2 < 2 * traffic.idempotent
                    yield name, "items", self._later(self._change, name, change, keyed)
            for number in _list_turns(traffic.deletes, round_number):
                keyed = number % 2 < 2 * traffic.idempotent
                yield name, "items", self._later(self._delete, name, keyed)
            for _ in _list_turns(traffic.expiries, round_number):
                yield "", "items", self._later(self._expire, name)
            for _ in _list_turns(traffic.sections.changes, round_number):
                yield name, "items", self._change_section
            for figure in traffic.figures.values():
                for _ in _list_turns(figure.votes, round_number):
                    yield name, "slots", self._vote_fast
        for _ in _list_turns(self._count_transactions("checkout"), round_number):
            yield "CartItem", "items", self._check_out
        for _ in _list_turns(self._count_transactions("close a poll"), round_number):
            yield "Poll", "items", self._close_poll

    def _list_reads(self, round_number: int) -> Iterator[Operation]:
        for name, traffic in self.traffic.entities.items():
            for _ in _list_turns(traffic.reads, round_number):
                yield name, "reads", self._later(self._read, name)
            for _ in _list_turns(traffic.sections.reads, round_number):
                yield name, "reads", self._read_section
            for list_name, page in traffic.pages.items():
                if name == "CartItem":
                    continue  # the checkout reads it
                for _ in _list_turns(page.count, round_number):
                    yield name, "reads", self._later(self._read_page, name, list_name)
            for figure_name, figure in traffic.figures.items():
                yield from self._list_figures(name, figure_name, figure, round_number)

    def _list_figures(
        self, name: str, figure_name: str, figure: FigureTraffic, round_number: int
    ) -> Iterator[Operation]:
        aggregate, within, by = run_values.FIGURES[name, figure_name]
        for count, options in (
            (figure.reads, {}),
            (figure.live, {"live": True}),
            (figure.ranks, {"ranked": True}),
        ):
            for _ in _list_turns(count, round_number):
                query = aggregate(*within, *by)
                yield (
                    name,
                    "reads",
                    self._later(lambda q, o: self.book.read(q, **o), query, options),
                )
        for _ in _list_turns(figure.tops, round_number):
            query, limit = aggregate.top(*within), figure.top_items
            yield name, "reads", self._later(lambda q, n: self.book.top(q, limit=n), query, limit)

    def _later(self, function: Callable[..., object], *arguments: Any) -> Callable[[], object]:
        return lambda: function(*arguments)

    def _create(self, name: str, traffic: EntityTraffic, number: int, keyed: bool = False) -> None:
        item = run_values.make_item(self.daicho.get_entity(name), traffic, number, self.draw)
        book = self.book
        if isinstance(item, Ballot):
            vote = Vote(candidate=item.candidate)
            item = votes.vote(book, run_values.POLL, item.voter, vote)
        else:
            item = self._send(book, lambda: book.create(item), keyed)
        self._keep(item, traffic.examples[number % len(traffic.examples)])

    def _keep(self, item: Entity, example: Mapping[str, Any]) -> None:
        names = self.ledger.current_generation(type(item).__name__).plan.key.fields
        ref = ItemRef(type(item), tuple(getattr(item, name) for name in names))
        self.stored[type(item).__name__].insert(0, ref)
        self._examples[ref] = example

    def _send(self, book: Book, request: Callable[[], Any], keyed: bool) -> Any:
        if not keyed:
            return request()
        results = []

        def answer() -> StoredAnswer:
            results.append(request())
            return StoredAnswer(200, {"ETag": '"1"'}, "x" * 300)

        book.once(IdempotentRequest.from_http(new_id(), "POST", "/", {}, ""), answer)
        return results[0]

    def _change(self, name: str, change: ChangeTraffic, keyed: bool) -> None:
        ref, book = self.stored[name].pop(), self.book
        if name == "Ballot":
            votes.vote(book, ref.parts[0], ref.parts[2], Vote(**change.fields))
        elif change.method == "PUT":
            names = self.ledger.current_generation(name).plan.key.fields
            example = self._examples[ref]
            values = {**example, **dict(zip(names, ref.parts, strict=True))}
            values = run_values.select_given({**values, **change.fields}, ref.entity)
            self._send(book, lambda: book.put(ref.entity(**values)), keyed)
        else:
            self._send(book, lambda: book.change(ref, change.fields), keyed)

    def _delete(self, name: str, keyed: bool) -> None:
        ref, book = self.stored[name].pop(), self.book
        self._send(book, lambda: book.delete(ref), keyed)

    def _expire(self, name: str) -> None:
        """Delete an item as DynamoDB's TTL process does."""
        ref = self.stored[name].pop()
        plan = self.ledger.current_generation(name).plan
        values = get_values(self.book.get(ref))
        fields = {field: {"S": str(values[field])} for field in plan.key.fields}
        key = build_base_key(TENANT, plan, fields)
        self.expired.add((key.pk, key.sk))
        self.table.delete(key)

    def _read(self, name: str) -> None:
        self.book.get(self.stored[name][self.draw.randrange(5)])

    def _read_page(self, name: str, list_name: str) -> None:
        page = self.traffic.entities[name].pages[list_name]
        if list_name == "versions":
            ref = self.stored[name][0]
            self.book.page(ref.entity.versions(*ref.parts))
            return
        query = run_values.QUERIES[name, list_name](page.keyword)
        shown = len(self.book.page(query, limit=page.limit).items)
        if shown != page.items:
            raise RuntimeError(f"{name}.{list_name} shows {shown} items, not {page.items}")

    def _read_section(self) -> None:
        ref = self.stored["Document"][0]
        self.book.section(Document.split(*ref.parts, section="outlook"))

    def _change_section(self) -> None:
        ref = self.stored["Document"][self.draw.randrange(5)]
        section = Document.split(*ref.parts, section="outlook")
        self.book.put_section(section, {"text": "Another bad year"})

    def _vote_fast(self) -> None:
        vote = Vote(candidate=self.draw.choice(run_values.CANDIDATES))
        votes.vote_without_name(self.book, CALLER, run_values.FAST_POLL, vote)

    def _check_out(self) -> None:
        user = new_id()
        with self.meter.working("", "items"):
            for sku in range(3):
                self.book.create(
                    CartItem(user=user, sku=f"lp-{sku}", quantity=2, price=Decimal("24.90"))
                )
        book = self.book
        carts.checkout(book, user)

    def _close_poll(self) -> None:
        ref = self.stored["Poll"].pop()
        polls.change(self.book, ref.parts[0], PollChange(state="closed"))

    def _count_transactions(self, name: str) -> float:
        return sum(t.count for t in self.traffic.transactions if t.name == name)

    def _project(self, event: Mapping[str, Any], _context: Any) -> dict[str, Any]:
        """Project the records in batches of about the size that the traffic file names."""
        records = [self._mark_expired(record) for record in event["Records"]]
        batches = max(1, round(len(records) / (self.traffic.stream.batch_records or 100)))
        size = ceil(len(records) / batches)
        for begin in range(0, len(records), size):
            batch = Batch.parse({**event, "Records": records[begin : begin + size]})
            if self._projector.project(batch, MINUTES) is not None:
                raise RuntimeError("not projected")
        return {"batchItemFailures": []}

    def _mark_expired(self, record: dict[str, Any]) -> dict[str, Any]:
        key = record["dynamodb"]["Keys"]
        if record["eventName"] != "REMOVE" or (key["PK"]["S"], key["SK"]["S"]) not in self.expired:
            return record
        kind, principal = TTL_PROCESS
        return {**record, "userIdentity": {"type": kind, "principalId": principal}}


def _list_turns(count: float, round_number: int) -> range:
    """The turns of a round: those of all rounds together are ``count``."""
    return range(int(count * round_number) // ROUNDS, int(count * (round_number + 1)) // ROUNDS)
