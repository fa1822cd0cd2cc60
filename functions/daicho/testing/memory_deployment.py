"""A deployment in memory for tests of own domains: the Book, the stream and the functions."""

from __future__ import annotations

import datetime as dt
import gzip
import io
import json
import random
from collections import Counter
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import replace
from typing import Any, TypeVar

from daicho.book.book import Book
from daicho.declare.entity import Entity
from daicho.declare.subscribers import Event, Subscriber
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.items.mapper import to_item
from daicho.layout.heartbeats import is_heartbeat
from daicho.plan import Ledger
from daicho.plan.events import list_receivers
from daicho.query.access import SYSTEM, Access
from daicho.storage.attributes import Image
from daicho.storage.bucket import Bucket
from daicho.storage.event_queue import EventBus, EventQueue
from daicho.storage.stream_shards import StreamDescriber
from daicho.storage.table import Table
from daicho.stream import claims
from daicho.testing.aws.invocations import FunctionReturned
from daicho.testing.aws.memory_dynamodb import MemoryDynamoDB
from daicho.testing.aws.memory_events import MemoryBus
from daicho.testing.aws.memory_s3 import MemoryS3
from daicho.testing.aws.memory_streams import MemoryStreams
from daicho.testing.aws.stream_recorder import StreamRecorder
from daicho.testing.aws.table_stream import TableStream
from daicho.testing.choices import Choices
from daicho.testing.clock import SimulatedClock
from daicho.testing.faults.fault_injector import FaultInjector
from daicho.testing.faults.faulty_clients import FaultyDynamoDB
from daicho.testing.faults.processes import SimulatedProcess
from daicho.testing.stack_settings import (
    ARCHIVE_BUCKET,
    BUCKETS,
    DEAD_LETTERS,
    DIRTY_SHARDS,
    ENVIRONMENT,
    EVENT_QUEUE,
    NO_SUBSCRIBERS,
    OBJECT_BUCKET,
    TABLE,
    build_handler,
    create_mappings,
    list_ready_shards,
    open_queues,
)
from daicho.write.counter_writer import CounterSettings

DEFAULT_START = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
INVOCATION_MS = 300_000
MAX_FAULTY_ATTEMPTS = 6
"""Deliveries of an event that meet faults, before one that does not."""
FAULTS = {
    **dict.fromkeys(("crash before", "crash after", "lost response", "repeated request"), 0.08),
    **dict.fromkeys(("throttled key", "server error", "conflict", "slow"), 0.04),
}
"""The weights of what befalls an operation of a subscriber's process."""
E = TypeVar("E", bound=Entity)


class DeliveryError(AssertionError):
    """A function did not handle its records or its event."""


class MemoryDeployment:
    """The table, its stream and the functions in memory, without a server and without faults.

    A write through a Book is visible in items at once, as in DynamoDB. Searches, lists and live
    figures show it after `deliver`, and totals and rankings after `roll_up`::

        deployment = MemoryDeployment(ledger)
        book = deployment.open_book()
        book.create(Order(id="1", customer="mika"))
        deployment.deliver()
        assert len(book.page(Order.of_customer("mika")).items) == 1

    Everything is real except the stores, the stream and Lambda's event source mapping: the same
    handlers process the same events as on AWS. Presigned URLs of objects are not simulated.

    Args:
        ledger: the generations of all entities, as `daicho.plan.Ledger.load` reads them.
        start: the initial time of ``clock``, with a time zone.
        heartbeat_seconds: with more than 0, figures have an ``as_of``: `roll_up` raises it by what
            was delivered before, and sends heartbeats, which `deliver` counts too. See rule 55.

        subscribers: what `deliver` runs besides: ``Daicho(domain).subscribers``.
        faults: a number from which follows what befalls the processes of subscribers: they end
            before or after an operation, are throttled, lose an answer, or come too late. So most
            events are delivered several times, and ``clock`` moves on. None: nothing does.

    Attributes:
        clock: the time of the Books and the functions. It moves only when it is advanced.
        table: the library's table, to read or write items directly.
        published: the events that `deliver` has put on the bus, in their order.
    """

    def __init__(
        self,
        ledger: Ledger,
        *,
        start: dt.datetime = DEFAULT_START,
        heartbeat_seconds: int = 0,
        subscribers: Mapping[str, Subscriber] = NO_SUBSCRIBERS,
        faults: int | None = None,
    ) -> None:
        self.ledger = ledger
        self._environment = dict(ENVIRONMENT)
        if heartbeat_seconds:
            self._environment["HEARTBEAT_SECONDS"] = str(heartbeat_seconds)
        self.clock = SimulatedClock(start)
        self._stream = TableStream()
        self._recorder = StreamRecorder(self._stream, self.clock.now, 0, lambda: 1)
        self._dynamodb = MemoryDynamoDB(self.clock.now, self._recorder)
        self._buckets = {name: MemoryS3(self.clock.now) for name in BUCKETS}
        self._mappings = create_mappings(
            ledger, self._stream, self.clock.now, lambda _name, _body: None, {}
        )
        self._queues = open_queues(self.clock.now, subscribers)
        self._process: SimulatedProcess | None = None
        self._choices = None if faults is None else Choices(faults)
        self._subscribers = {name: self._watch(each) for name, each in subscribers.items()}
        self._error: Exception | None = None
        self._bus = MemoryBus()
        self.published = self._bus.events
        self._random = random.Random(0)  # noqa: S311  # it chooses slots of fast counters
        self._ticks = 0
        self.table = self._open_table()

    def open_book(self, tenant: str = "tenant", access: Access = SYSTEM) -> Book:
        """A Book of a tenant. Open one for each request, as the API does: it caches its reads.

        ``access``: of a caller, by the rules of `Daicho.access_rules`; everything by default.
        """
        counters = CounterSettings(self.table, DIRTY_SHARDS, self._random.random)
        return Book(
            self.table,
            self.ledger,
            tenant,
            clock=self._get_distinct_time,
            counter_settings=counters,
            parallelism=1,
            bucket=lambda: self._open_bucket(OBJECT_BUCKET),
            access=access,
        )

    def deliver(self) -> int:
        """Deliver all stream records to the projector and the archiver, and all events.

        Derived items and slots are up to date afterwards, and items that `expire_items` removed
        are in the archive. Events are in ``published``, and subscribers have run for them, and for
        what they wrote.

        Returns:
            The number of records that the functions received.

        Raises:
            DeliveryError: a function failed, did not handle a record, or put one aside because
                what it derives cannot be computed.
        """
        self._deliver_events()
        count = 0
        while ready := list_ready_shards(self._mappings):
            for name, shard in ready:
                invocation = self._mappings[name].poll(shard)
                if invocation is None:
                    continue
                result = self._invoke(name, invocation.event)
                if result["batchItemFailures"]:
                    raise DeliveryError(f"{name} did not handle {result['batchItemFailures']}")
                self._mappings[name].settle(invocation, FunctionReturned(result))
                count += len(invocation.positions)
            self._deliver_events()
        quarantined = [key for key, item in self._dynamodb.items if _is_quarantined(item)]
        if quarantined:
            raise DeliveryError(f"records of these shards could not be processed: {quarantined}")
        return count

    def _deliver_events(self) -> None:
        """Let the functions of all queues handle their messages."""
        for receiver in list_receivers(self.ledger.events):
            if receiver and receiver not in self._subscribers:
                raise DeliveryError(
                    f"the subscriber {receiver!r} is unknown; write MemoryDeployment(ledger, "
                    "subscribers=Daicho(domain).subscribers)"
                )
            queue, name = self._queues[receiver or EVENT_QUEUE], receiver or "publish"
            while event := queue.receive():
                if receiver and self._choices and queue.messages[0].attempts <= MAX_FAULTY_ATTEMPTS:
                    queue.settle(event, self._invoke_with_faults(name, event, self._choices))
                    self.clock.advance(queue.visibility.total_seconds())
                    continue
                self._error = None
                answer = self._invoke(name, event)
                if answer["batchItemFailures"]:
                    raise DeliveryError(f"{name} failed: {self._error!r}") from self._error
                queue.settle(event, answer)
        if self._queues[DEAD_LETTERS].messages:
            raise DeliveryError("subscribers write what each other waits for: a loop")

    def _invoke_with_faults(
        self, name: str, event: Mapping[str, Any], choices: Choices
    ) -> Mapping[str, Any]:
        """Run a subscriber in a process that may end early; then all of its events are left."""
        process = SimulatedProcess(
            name,
            lambda _process: self._invoke(name, event),
            code_version=0,
            seconds=float(self._subscribers[name].timeout_s),
            choices=choices,
            faults=FaultInjector(FAULTS),
            fault_counts=Counter(),
        )
        self._process = process
        while not process.finished and not process.is_overdue:
            process.step()
        if not process.finished:
            process.kill()
        self._process = None
        left = [{"itemIdentifier": each["messageId"]} for each in event["Records"]]
        return process.outcome or {"batchItemFailures": left}

    def _watch(self, subscriber: Subscriber) -> Subscriber:
        """The subscriber, with a function whose error a `DeliveryError` shows."""

        def run(book: Book, event: Event) -> None:
            try:
                subscriber.function(book, event)
            except Exception as error:
                self._error = error
                raise

        return replace(subscriber, function=run)

    def roll_up(self) -> None:
        """Run the rollup: totals and rankings show everything that was delivered.

        Raises:
            DeliveryError: it failed.
        """
        report = self._invoke("rollup", {})
        if report["failed"]:
            raise DeliveryError(f"the rollup did not update {report['failed']} totals")

    def catch_up(self) -> None:
        """Deliver all stream records and roll up: everything derived is up to date.

        Raises:
            DeliveryError: see `deliver` and `roll_up`.
        """
        self.deliver()
        self.roll_up()

    def sweep(self) -> None:
        """Run the sweep, which removes what requests that ended early have left.

        Raises:
            DeliveryError: it failed.
        """
        self._invoke("sweep", {})

    def expire_items(self) -> int:
        """Remove all items that have expired at the time of ``clock``, as DynamoDB's TTL does.

        Returns:
            The number of base items that were removed.
        """
        items = list(self._dynamodb.items)
        expired = [item for key, item in items if self._dynamodb.expire(key)]
        return sum("type" in item and not is_heartbeat(item) for item in expired)

    def list_archived_items(self, entity: type[E]) -> list[E]:
        """The items of an entity in the archive, of all tenants, in the order of their expiry."""
        rows = [
            json.loads(line)
            for stored in self._buckets[ARCHIVE_BUCKET].stored.values()
            for line in gzip.decompress(stored.body).splitlines()
        ]
        rows = [row for row in rows if row["entity"] == entity.__name__]
        return [
            to_item(entity, row["item"], self.ledger) for row in sorted(rows, key=_get_row_order)
        ]

    def _invoke(self, name: str, event: Mapping[str, Any]) -> Any:
        process = self._process
        dependencies = Dependencies(
            table=lambda _name, **_: self._open_table(),
            bucket=lambda bucket, **_: self._open_bucket(bucket),
            event_queue=lambda url: EventQueue(self._queues[url], url),
            event_bus=lambda name, dead: EventBus(self._bus, name, dead),
            now=self.clock.now,
            sleep=process.sleep if process else self.clock.advance,
            random=self._random.random,
            parallelism=1,
            stream=lambda _table: self._describe_stream(),
        )
        handler = build_handler(
            name, self.ledger, dependencies, self._environment, self._subscribers
        )
        with redirect_stdout(io.StringIO()):  # metrics
            try:
                return handler(event, process or _Context())
            except Exception as error:
                raise DeliveryError(f"{name} failed: {error!r}") from error

    def _describe_stream(self) -> StreamDescriber:
        client: Any = MemoryStreams(self._stream, lambda: 0)
        return StreamDescriber(client, client, TABLE)

    def _open_table(self) -> Table:
        client: Any = self._dynamodb
        if self._process is not None:
            client = FaultyDynamoDB(client, self._process)
        return Table(client, TABLE)

    def _open_bucket(self, name: str) -> Bucket:
        client: Any = self._buckets[name]
        return Bucket(client, name)

    def _get_distinct_time(self) -> dt.datetime:
        """The time, some microseconds later: items are created in the order of their writes."""
        self._ticks += 1
        return self.clock.now() + dt.timedelta(microseconds=self._ticks)


class _Context:
    """Lambda's context, with a timeout that is never reached."""

    def get_remaining_time_in_millis(self) -> int:
        """The remaining time in milliseconds."""
        return INVOCATION_MS


def _is_quarantined(item: Image) -> bool:
    return item.get("GSI2PK") == {"S": claims.QUARANTINE}


def _get_row_order(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["deleted_at"], row["seq"]
