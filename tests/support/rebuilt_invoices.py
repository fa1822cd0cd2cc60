"""A stage with old invoices, whose stream is fed to the projector, and a rebuild of them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from daicho import Aggregate, Count, Listing, Search
from daicho.handlers import project, rollup
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.handlers.wiring.invocation import Handler
from daicho.jobs.step import JobStep
from daicho.layout.backfill_state import BackfillState, build_backfill_key
from daicho.plan.event_filters import HEARTBEAT_TYPE
from daicho.rebuild.job import RebuildJob
from daicho.rebuild.requests import find_job
from daicho.rebuild.stack_jobs import StackJobs
from daicho.release.states import build_deployed_update, build_record_update
from daicho.runtime.retry import RetryBudget
from daicho.storage.protocols import DescribesStream, StreamShard, apply_update
from daicho.storage.table import Table
from tests.support.changed_invoices import NOON, Stage
from tests.support.stream_pump import SHARD, Consumer, Context, Pump, environment

BEGIN = dt.datetime(2026, 11, 22, 12, tzinfo=dt.UTC)
SETTLE = 60


def change_three(body: dict[str, Any]) -> None:
    body["by_country"] = Listing(body["country"])
    body["search"] = Search(body["customer"], body["country"])
    body["count"] = Aggregate(Count(), body["status"], ranked=True)


def change_four(body: dict[str, Any]) -> None:
    change_three(body)
    body["all"] = Listing()


@dataclass
class House(DescribesStream):
    """A stage with old invoices; at every pause its stream is fed, and totals are rolled up."""

    stage: Stage
    pump: Pump
    now: dt.datetime = BEGIN
    names: list[str] = field(default_factory=list)
    job_table: Table | None = None
    """The table of the next steps; None for one without faults."""
    roll_up: Handler | None = None

    def list_shards(self) -> tuple[StreamShard, ...]:
        return (StreamShard(SHARD),)

    def list_names(self, prefix: str, *, behind: str = "") -> Iterator[str]:
        return iter(self.names)

    @property
    def table(self) -> Table:
        return Table(self.stage.dynamodb, self.stage.name).with_metering()

    @property
    def jobs(self) -> StackJobs:
        failures: Any = self
        return StackJobs(
            store=self.job_table or self.table,
            stream=self,
            failures=failures,
            ledger=self.stage.ledger,
            now=lambda: self.now,
            settle=SETTLE,
            parallelism=1,
            dirty_shards=4,
        )

    def finish_deployment(self) -> None:
        apply_update(self.table, build_record_update("arn", frozenset()))
        apply_update(self.table, build_deployed_update("arn", self.now))

    def start(self, **options: Any) -> None:
        self.finish_deployment()
        targets = {"Invoice": self.stage.ledger.newest_generation("Invoice").number}
        job = RebuildJob("one", targets, self.now.isoformat(), rate=1e9, **options)
        before = find_job(self.table)
        job.rev = before.rev if before else 0
        self.jobs.jobs.save(job)

    def pause(self, seconds: float) -> None:
        self.now += dt.timedelta(seconds=seconds)
        self.pump.run()
        if seconds and self.roll_up is not None:
            self.roll_up({}, Context())

    def step(self, seconds: float = 300.0, job: RebuildJob | None = None) -> JobStep:
        """One invocation. ``job``: by default the rebuild."""
        until = self.now + dt.timedelta(seconds=seconds)
        budget = RetryBudget(
            lambda: (until - self.now).total_seconds(),  # noqa: PLW0108  # its time moves
            20.0,
            self.pause,
            lambda: 0.5,
        )
        job = job or self.find_job()
        step = self.jobs.run_step(job.machine_input["job"], budget)
        self.pause(step.wait)
        return step

    def finish(self) -> RebuildJob:
        for _ in range(20):
            if self.step().done:
                break
        return self.find_job()

    def find_job(self) -> RebuildJob:
        job = find_job(self.table)
        assert job is not None
        return job

    def read_state(self) -> BackfillState:
        item = self.table.get(build_backfill_key("Invoice"))
        assert item is not None
        return BackfillState.parse("Invoice", item)


def deploy_projector(house: House) -> None:
    settings, dependencies = environment(house.stage.name), Dependencies(now=lambda: house.now)
    handler = project.build(settings, house.stage.ledger, dependencies)
    house.pump.consumers = [Consumer(handler, ("Invoice", HEARTBEAT_TYPE))]
    house.roll_up = rollup.build(settings, house.stage.ledger, dependencies)


def put(house: House, id: str, **values: Any) -> None:
    given = {"customer": "Ada", "status": "open", "country": "jp", "amount": 100, "at": NOON}
    house.stage.book.put(house.stage.entity(id=id, **{**given, **values}))


def deploy_change(house: House) -> None:
    house.stage.deploy(change_three)
    deploy_projector(house)
