"""A stage with visits that expire, and a rebuild that completes what is to count them for ever."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from mypy_boto3_dynamodb import DynamoDBClient

from daicho import Aggregate, Count, Domain, Entity, Expires, Key, Sum, uid
from daicho import field as declared
from daicho.archive.reader import ArchiveReader, Selection
from daicho.book.book import Book
from daicho.declare.registry import Daicho
from daicho.handlers import archive, project, rollup
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.jobs.lease import JobStore
from daicho.layout.backfill_state import BackfillState, build_backfill_key
from daicho.plan import Ledger
from daicho.plan.event_filters import HEARTBEAT_TYPE
from daicho.rebuild.job import RebuildJob
from daicho.rebuild.requests import find_job, plan_targets
from daicho.rebuild.stack_jobs import StackJobs
from daicho.release.states import build_deployed_update, build_record_update
from daicho.runtime.retry import RetryBudget
from daicho.storage.protocols import StreamShard, apply_update
from daicho.storage.table import Table
from daicho.stream.records import SINGLE_SHARD
from daicho_cli.local.ttl_process import delete_expired
from tests.support.memory_stores import MemoryBucket
from tests.support.stream_pump import Consumer, Context, Pump, environment

SETTLE = 60
LIFETIME = dt.timedelta(days=7)


def declare_visit(*, keeps: bool) -> type[Any]:
    """A visit that expires; the second generation counts for ever."""
    fields: dict[str, Any] = {"id": uid(), "place": declared(), "paid": declared()}
    body: dict[str, Any] = {
        "__annotations__": {"id": str, "place": str, "paid": int},
        "__module__": __name__,
        **fields,
        "key": Key(fields["id"]),
        "living": Aggregate(Count(), fields["place"], on_expiry="subtract"),
        "expires": Expires(LIFETIME, archive=True),
    }
    if keeps:
        body["ever"] = Aggregate(Count(), fields["place"], ranked=True, on_expiry="keep")
        body["earned"] = Aggregate(Sum(fields["paid"]), on_expiry="keep")
    return type("Visit", (Entity,), body)


@dataclass
class VisitStage:
    """A stage whose stream is fed to projector and archiver at every pause."""

    dynamodb: DynamoDBClient
    endpoint: str
    name: str
    now: dt.datetime = dt.datetime(2026, 11, 22, 12, tzinfo=dt.UTC)
    bucket: MemoryBucket = field(default_factory=MemoryBucket)
    ledger: Ledger = field(default_factory=Ledger)
    entity: type[Any] = Entity

    def __post_init__(self) -> None:
        self.pump = Pump(self.dynamodb, self.endpoint, self.name, [], 7)

    def deploy(self, *, keeps: bool) -> None:
        """Deploy the declarations, and record the generation as a release does."""
        self.entity = declare_visit(keeps=keeps)
        daicho = Daicho(Domain("test", self.entity))
        self.ledger = daicho.check_locked(daicho.append_generations(self.ledger))
        newest = self.ledger.newest_generation("Visit").number
        state = BackfillState("Visit", 1, newest)
        self.dynamodb.put_item(TableName=self.name, Item=state.to_item())
        apply_update(self.table, build_record_update("arn", frozenset()))
        apply_update(self.table, build_deployed_update("arn", self.now))
        environ = environment(
            self.name, STAGE="local", EMULATED_STREAM="true", ARCHIVE_BUCKET="archive"
        )
        self.bucket.now = lambda: self.now
        dependencies = Dependencies(
            table=lambda *_, **__: self.table,
            bucket=lambda *_, **__: self.bucket,
            now=lambda: self.now,
            parallelism=1,
        )
        types = ("Visit", HEARTBEAT_TYPE)
        self.pump.consumers = [
            Consumer(each.build(environ, self.ledger, dependencies), types)
            for each in (project, archive)
        ]
        self.rollup = rollup.build(environ, self.ledger, dependencies)

    @property
    def table(self) -> Table:
        return Table(self.dynamodb, self.name).with_metering()

    def book(self, tenant: str = "one") -> Book:
        return Book(self.table, self.ledger, tenant, clock=lambda: self.now)

    def list_shards(self) -> tuple[StreamShard, ...]:
        return (StreamShard(SINGLE_SHARD),)

    def list_names(self, prefix: str, *, behind: str = "") -> Iterator[str]:
        return iter(())

    def visit(self, *ids: str, tenant: str = "one") -> None:
        for id in ids:
            place = "ab"[len(id) % 2]
            self.book(tenant).create(self.entity(id=id, place=place, paid=len(id)))

    def expire(self, days: int = 8) -> None:
        """Let days pass, and the TTL process come by."""
        self.now += dt.timedelta(days=days)
        delete_expired(self.dynamodb, self.name, self.now.timestamp())
        self.pump.run()

    def start(self) -> None:
        targets = plan_targets(self.ledger, {"Visit": self.read_state()})
        job = RebuildJob("one", targets, self.now.isoformat(), rate=1e9)
        before = find_job(self.table)
        job.rev = before.rev if before else 0
        JobStore(self.table, lambda: self.now).save(job)

    def pause(self, seconds: float) -> None:
        self.now += dt.timedelta(seconds=seconds)
        self.pump.run()
        if seconds:
            self.rollup({}, Context())

    def step(self) -> bool:
        """One invocation; whether the job is over."""
        until = self.now + dt.timedelta(seconds=300)
        budget = RetryBudget(
            lambda: (until - self.now).total_seconds(),  # noqa: PLW0108  # its time moves
            20.0,
            self.pause,
            lambda: 0.5,
        )
        stage: Any = self
        job = find_job(self.table)
        assert job is not None
        step = StackJobs(
            store=self.table,
            stream=stage,
            failures=stage,
            ledger=self.ledger,
            now=lambda: self.now,
            settle=SETTLE,
            segments=4,
            parallelism=1,
            archive=ArchiveReader(self.bucket),
            dirty_shards=4,
        ).run_step(job.id, budget)
        self.pause(step.wait)
        return step.done

    def finish(self) -> RebuildJob:
        for _ in range(40):
            if self.step():
                break
        self.rollup({}, Context())
        job = find_job(self.table)
        assert job is not None
        return job

    def read_figures(self, tenant: str = "one") -> tuple[Counter[str], int]:
        """What the aggregates answer: by place, and the sum; live and rolled up agree."""
        book, places = self.book(tenant), Counter[str]()
        for place in "ab":
            figures = {
                book.read(self.entity.ever(place), live=live).items for live in (True, False)
            }
            (places[place],) = figures
        sums = {int(book.read(self.entity.earned(), live=live).total) for live in (True, False)}
        (earned,) = sums
        return places, earned

    def count_plainly(self, tenant: str = "one") -> tuple[Counter[str], int]:
        """The same from the stored items and the archived rows."""
        scanned = self.dynamodb.scan(TableName=self.name)["Items"]
        images: list[Any] = [item for item in scanned if item.get("type") == {"S": "Visit"}]
        reader = ArchiveReader(self.bucket)
        for info in reader.list_selected(Selection(("Visit",))):
            images += [row.item for row in reader.read(info.name).rows]
        mine = [image for image in images if image["PK"]["S"].startswith(f"{tenant}#")]
        places = Counter({"a": 0, "b": 0})
        places.update(image["place"]["S"] for image in mine)
        return places, sum(int(image["paid"]["N"]) for image in mine)

    def read_state(self) -> BackfillState:
        item = self.table.get(build_backfill_key("Visit"))
        assert item is not None
        return BackfillState.parse("Visit", item)
