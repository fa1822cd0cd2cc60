"""A purge over Dynoxide: all of the disabled instances goes, and nothing else."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from daicho import Aggregate, Listing, Search, Sum, month
from daicho.jobs.state_machine import PURGE_PREFIX
from daicho.jobs.step import JobStep
from daicho.plan import Decisions
from daicho.rebuild.purge_job import PurgeJob, find_purge, list_unpurged, request_purge
from daicho.rebuild.purged_items import is_item_of
from daicho.release.states import read_stage_states
from daicho.runtime.retry import RetryBudget
from daicho.storage import keys
from daicho.storage.attributes import Image
from daicho.storage.requests import Scan
from daicho.stream.recount_list import build_recount_key
from tests.support.changed_invoices import Stage
from tests.support.rebuilt_invoices import House, deploy_projector, put
from tests.support.stream_pump import Pump

NAMES = ("by_status", "revenue", "search")
DISABLED = {"Invoice": [f"{name}@1" for name in NAMES]}
DISABLE = Decisions(disabled=frozenset(f"Invoice.{name}" for name in NAMES))


def change_all(body: dict[str, Any]) -> None:
    body["by_status"] = Listing(body["status"], shards=2)
    body["search"] = Search(body["customer"], body["country"])
    body["revenue"] = Aggregate(
        Sum(body["amount"]), body["country"], within=month(body["at"]), ranked=True, shards=2
    )


@dataclass
class PurgeHouse(House):
    """A stage whose invoices have rows and totals of disabled instances."""

    def request(self) -> PurgeJob:
        states = read_stage_states(self.table).states
        unpurged = list_unpurged(self.stage.ledger, states)
        return request_purge(self.table, unpurged, self.now, rate=1e9)

    def step_purge(self, id: str) -> JobStep:
        until = self.now + dt.timedelta(seconds=300)
        budget = RetryBudget(
            lambda: (until - self.now).total_seconds(),  # noqa: PLW0108  # its time moves
            20.0,
            lambda _: None,
            lambda: 0.5,
        )
        step = self.jobs.run_step(f"{PURGE_PREFIX}{id}", budget)
        self.now += dt.timedelta(seconds=step.wait)
        return step

    def finish_purge(self, id: str) -> PurgeJob:
        for _ in range(20):
            if self.step_purge(id).done:
                break
        job = find_purge(self.table)
        assert job is not None
        return job

    def scan(self) -> list[Image]:
        return list(self.table.scan(Scan(consistent=True)).items)

    def list_disabled_items(self) -> list[Image]:
        return [image for image in self.scan() if is_item_of(DISABLED, image)]

    def list_others(self) -> list[Image]:
        """What must not change, in order."""
        stack = (keys.render("", "rebuild"), keys.render("", "backfill"))
        others = [
            image
            for image in self.scan()
            if image["PK"]["S"] not in stack and not is_item_of(DISABLED, image)
        ]
        return sorted(others, key=lambda image: (image["PK"]["S"], image["SK"]["S"]))


@pytest.fixture
def house(
    dynamo: str, dynamodb: DynamoDBClient, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> PurgeHouse:
    monkeypatch.setenv("AWS_ENDPOINT_URL", dynamo)
    stage = Stage(dynamodb, table_name)
    house = PurgeHouse(stage, Pump(dynamodb, dynamo, table_name, []))
    stage.deploy()
    deploy_projector(house)
    for number in range(6):
        put(house, str(number), country=("jp", "fr")[number % 2], customer=f"Ada {number % 4}")
    house.pump.run()
    stage.deploy(change_all)
    deploy_projector(house)
    put(house, "0", status="paid")  # a tombstone of the listing that retires
    house.pump.run()
    stage.deploy(change_all, DISABLE)
    deploy_projector(house)
    house.finish_deployment()
    return house


def put_neighbours(house: PurgeHouse) -> None:
    """Items of other instances, whose keys begin or end like those of the disabled ones."""
    row = keys.render("t", "~Invoice", "9", "-")
    tally = keys.render("t", "+Invoice.revenue", "11", "2026-11", "jp")
    for pk, sk in (
        (row, keys.render("search", "11", "a")),
        (row, keys.render("search", "11")),
        (row, keys.render("searches", "1", "a")),
        (row, keys.render("re.search", "1", "a")),
        (keys.render("t", "~Invoices", "9", "-"), keys.render("search", "1", "a")),
        (keys.render("t", "~My.Invoice", "9", "-"), keys.render("search", "1", "a")),
        (tally, "total"),
        (keys.render("t", "+Invoice.revenues", "1", "jp"), "total"),
        (keys.render("t", "+My.Invoice.revenue", "1", "jp"), "total"),
        (keys.render("", "kept", "Invoice", "revenue@11"), "object"),
        (keys.render("t", "Place", "~Invoice", "search"), keys.render("search", "1")),
        (keys.render("t", "Place", "#+Invoice.revenue#1"), "-"),
    ):
        house.table.put({"PK": {"S": pk}, "SK": {"S": sk}})
    put_recount(house, tally)


def put_recount(house: PurgeHouse, tally: str) -> None:
    key = build_recount_key(tally)
    item = {"PK": {"S": key.pk}, "SK": {"S": key.sk}, "tally": {"S": tally}}
    house.table.put(item)


def test_everything_of_the_disabled_instances_is_deleted_and_nothing_else(
    house: PurgeHouse,
) -> None:
    put_neighbours(house)
    put_recount(house, keys.render("t", "+Invoice.revenue", "1", "2026-11", "jp" + "x" * 1000))
    marker = keys.render("", "kept", "Invoice", "revenue@1")
    house.table.put({"PK": {"S": marker}, "SK": {"S": "object"}})
    found = house.list_disabled_items()
    assert any("ttl" in image for image in found)  # a tombstone
    assert any(image["SK"]["S"].startswith("slot#") for image in found)
    assert any(image["PK"]["S"] == marker for image in found)
    others = house.list_others()
    job = house.finish_purge(house.request().id)
    assert (job.state, job.passes, job.instances) == ("succeeded", 2, DISABLED)
    assert job.counts["deleted"] == len(found)
    assert house.list_disabled_items() == []
    assert house.list_others() == others
    assert house.read_state().purged == set(DISABLED["Invoice"])
    assert list_unpurged(house.stage.ledger, {"Invoice": house.read_state()}) == {}
