"""A rebuild over Dynoxide: old items, both generations writing, and readers that ask meanwhile."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from daicho import Aggregate, Count, Listing, Search
from daicho.errors import BeingBuilt
from daicho.handlers import project
from daicho.layout.backfill_state import BackfillState, build_backfill_key
from daicho.plan.event_filters import HEARTBEAT_TYPE
from daicho.rebuild.job import RebuildJob
from daicho.rebuild.rebuild import Rebuild, RebuildStep
from daicho.rebuild.requests import find_job
from daicho.release.older_writers import admit_older_writers
from daicho.release.states import build_deployed_update, build_record_update
from daicho.runtime.retry import RetryBudget
from daicho.storage.protocols import StreamShard, apply_update
from daicho.storage.table import Table
from daicho.tenants.jobs import Jobs
from tests.support.changed_invoices import NOON, Stage
from tests.support.stream_pump import SHARD, Consumer, Pump, environment

BEGIN = dt.datetime(2026, 11, 22, 12, tzinfo=dt.UTC)
SETTLE = 60


def change_three(body: dict[str, Any]) -> None:
    body["by_country"] = Listing(body["country"])
    body["search"] = Search(body["customer"], body["country"])
    body["count"] = Aggregate(Count(), body["status"], ranked=True)


def change_four(body: dict[str, Any]) -> None:
    change_three(body)
    body["all"] = Listing()


def add_country(body: dict[str, Any]) -> None:
    body["by_country"] = Listing(body["country"], body["status"])


@dataclass
class House:
    """A stage with old invoices, whose stream is fed to the projector at every pause."""

    stage: Stage
    pump: Pump
    now: dt.datetime = BEGIN
    paused: list[float] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def list_shards(self) -> tuple[StreamShard, ...]:
        return (StreamShard(SHARD),)

    def list_names(self, prefix: str, *, behind: str = "") -> Iterator[str]:
        return iter(self.names)

    @property
    def table(self) -> Table:
        return Table(self.stage.dynamodb, self.stage.name).with_metering()

    @property
    def rebuild(self) -> Rebuild:
        table = self.table
        jobs = Jobs(table, lambda: self.now)
        return Rebuild(
            table, self, self, self.stage.ledger, jobs, lambda: self.now, SETTLE, parallelism=1
        )

    def finish_deployment(self) -> None:
        apply_update(self.table, build_record_update("arn", frozenset()))
        apply_update(self.table, build_deployed_update(self.now))

    def start(self, **options: Any) -> None:
        self.finish_deployment()
        targets = {"Invoice": self.stage.ledger.newest_generation("Invoice").number}
        job = RebuildJob("one", targets, self.now.isoformat(), rate=1e9, **options)
        self.rebuild.jobs.save(job)

    def pause(self, seconds: float) -> None:
        self.now += dt.timedelta(seconds=seconds)
        self.pump.run()

    def step(self, seconds: float = 300.0) -> RebuildStep:
        """One invocation."""
        until = self.now + dt.timedelta(seconds=seconds)
        budget = RetryBudget(
            lambda: (until - self.now).total_seconds(),  # noqa: PLW0108  # its time moves
            20.0,
            self.pause,
            lambda: 0.5,
        )
        step = self.rebuild.run_step(budget)
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


@pytest.fixture
def house(
    dynamo: str, dynamodb: DynamoDBClient, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> House:
    monkeypatch.setenv("AWS_ENDPOINT_URL", dynamo)
    stage = Stage(dynamodb, table_name)
    stage.deploy()
    pump = Pump(dynamodb, dynamo, table_name, [])
    house = House(stage, pump)
    deploy_projector(house)
    for number in range(40):
        put(house, str(number), country=("jp", "fr")[number % 2], customer=f"Ada {number % 4}")
    pump.run()
    return house


def deploy_projector(house: House) -> None:
    handler = project.build(environment(house.stage.name), house.stage.ledger)
    house.pump.consumers = [Consumer(handler, ("Invoice", HEARTBEAT_TYPE))]


def put(house: House, id: str, **values: Any) -> None:
    given = {"customer": "Ada", "status": "open", "country": "jp", "amount": 100, "at": NOON}
    house.stage.book.put(house.stage.entity(id=id, **{**given, **values}))


def deploy_change(house: House) -> None:
    house.stage.deploy(change_three)
    deploy_projector(house)


def test_all_that_is_new_is_complete_afterwards(house: House) -> None:
    deploy_change(house)
    stage, invoice = house.stage, house.stage.entity
    put(house, "new")
    before = stage.book.get(invoice.key("0"))
    with pytest.raises(BeingBuilt):
        stage.list(invoice.by_country("fr"))
    house.start()
    job = house.finish()
    assert (job.state, job.passes, job.counts["touched"], job.left) == ("succeeded", 2, 40, {})
    assert house.read_state().oldest == 2
    assert len(stage.list(invoice.by_country("fr"), limit=100)) == 20
    assert len(stage.list(invoice.search("jp"), limit=100)) == 21
    assert stage.book.read(invoice.count("open"), live=True).items == 41
    after = stage.book.get(invoice.key("0"))
    assert after == before


def test_a_pass_that_touched_something_proves_nothing(house: House) -> None:
    """Older code writes behind the scan of each pass."""
    deploy_change(house)
    house.start()
    for number in range(3):
        assert not house.step().done
        house.stage.roll_back()
        if number < 2:
            admit_older_writers(house.table, house.stage.ledger, lambda _: None)
        put(house, f"old {number}", country="fr")
        house.stage.roll_back(change_three)
    assert house.read_state().oldest == 1
    job = house.finish()
    assert (job.state, job.reason) == ("succeeded", "")
    assert job.passes >= 4
    assert len(house.stage.list(house.stage.entity.by_country("fr"), limit=100)) == 23


def test_a_killed_step_is_continued(house: House) -> None:
    deploy_change(house)
    house.start()
    steps = 0
    while not house.step(seconds=20.5).done and steps < 200:
        steps += 1
    assert house.read_state().oldest == 2
    assert len(house.stage.list(house.stage.entity.by_country("fr"), limit=100)) == 20


def test_items_that_cannot_be_derived_wait_for_a_decision(house: House) -> None:
    put(house, "long", country="x" * 700, status="y" * 400)
    house.stage.deploy(
        lambda body: body.update(by_country=Listing(body["country"], body["status"]))
    )
    deploy_projector(house)
    house.start()
    for _ in range(8):
        house.step()
        if house.find_job().state == "blocked":
            break
    job = house.find_job()
    assert "1 items cannot be derived" in job.reason
    (obstacle,) = job.left.values()
    assert "KeyTooLongError" in obstacle
    assert house.read_state().oldest == 1
    # It is corrected, so the next pass leaves nothing.
    put(house, "long", country="no")
    assert house.finish().left == {}
    assert house.read_state().oldest == 2


def test_records_in_the_failure_bucket_block_the_switch(house: House) -> None:
    deploy_change(house)
    house.names.append("aws/lambda/mapping/shard/object")
    house.start()
    for _ in range(8):
        house.step()
    job = house.find_job()
    assert (job.state, job.phase) == ("blocked", "prove")
    assert "daicho redrive" in job.reason
    house.names.clear()
    assert house.finish().state == "succeeded"


def test_a_release_meanwhile_is_followed(house: House) -> None:
    deploy_change(house)
    house.start()
    house.step()
    house.stage.deploy(change_four)
    apply_update(house.table, build_record_update("arn", frozenset()))
    deploy_projector(house)
    for _ in range(5):
        house.step()
    assert (house.find_job().reason, house.read_state().oldest) == ("a deployment is under way", 1)
    house.finish_deployment()
    job = house.finish()
    assert (job.state, job.targets) == ("succeeded", {"Invoice": 3})
    assert len(house.stage.list(house.stage.entity.all(), limit=100)) == 40


def test_a_paused_rebuild_does_nothing_until_it_is_resumed(house: House) -> None:
    deploy_change(house)
    house.start()
    house.step()
    job = house.find_job()
    job.state = "paused"
    house.rebuild.jobs.save(job)
    assert house.step().done
    assert house.read_state().oldest == 1
    house.rebuild.jobs.save(replace(job, state="running"))
    assert house.finish().state == "succeeded"
