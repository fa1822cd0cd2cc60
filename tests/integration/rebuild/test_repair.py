"""Rows that were deleted, changed or added by hand are as derived after a repair run."""

from __future__ import annotations

from typing import Any

import pytest

from daicho.handlers import project
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.plan.event_filters import HEARTBEAT_TYPE
from daicho.rebuild.repair_job import RepairJob, RepairUnderWayError, find_repair, request_repair
from daicho.rebuild.requests import find_job, pause_job, request_rebuild
from daicho.storage.attributes import Image, get_key
from daicho.storage.bucket import Bucket
from tests.support.consistency import differences
from tests.support.derived_state import items_of
from tests.support.memory_stores import MemoryObjects
from tests.support.rebuilt_invoices import House
from tests.support.stream_pump import Consumer, environment

RUNAWAY = {"S": "9999#9"}


def read_items(house: House) -> list[Image]:
    return list(items_of(house.stage.dynamodb, house.stage.name))


def read_rows(house: House) -> list[Image]:
    return [
        item for item in read_items(house) if "GSI2PK" in item and "~Invoice" in item["PK"]["S"]
    ]


def read_invoices(house: House) -> list[Image]:
    return [item for item in read_items(house) if item.get("type") == {"S": "Invoice"}]


def find_differences(house: House) -> list[str]:
    return differences({get_key(item): item for item in read_items(house)}, house.stage.ledger)


def store(house: House, item: Image) -> None:
    house.stage.dynamodb.put_item(TableName=house.stage.name, Item=item)


def damage(house: House) -> None:
    """Delete a row, change a place and a copy, add a row, and give one a runaway number."""
    deleted, moved, source, numbered = read_rows(house)[:4]
    house.table.delete(get_key(deleted))
    store(house, {**moved, "GSI2SK": {"S": "elsewhere"}})
    store(house, {**source, "SK": {"S": f"{source['SK']['S']}more"}})
    store(house, {**numbered, "seq": RUNAWAY, "GSI2PK": {"S": "another list"}})
    assert find_differences(house)


def request(house: House, tenant: str = "", **more: Any) -> RepairJob:
    house.finish_deployment()
    options = {"rate": 1e9, **more}
    return request_repair(house.table, {"Invoice": 1}, tenant, house.now, **options)


def finish(house: House) -> RepairJob:
    for _ in range(20):
        job = find_repair(house.table)
        assert job is not None
        if house.step(job=job).done:
            break
    job = find_repair(house.table)
    assert job is not None
    return job


def test_damaged_rows_are_as_derived_again(house: House) -> None:
    damage(house)
    versions = [item["version"] for item in read_invoices(house)]
    request(house)
    job = finish(house)
    assert (job.state, job.counts["touched"], job.left) == ("succeeded", 40, {})
    assert find_differences(house) == []
    assert [item["version"] for item in read_invoices(house)] == versions
    assert {item["_repair"]["S"] for item in read_invoices(house)} == {job.run}
    assert RUNAWAY not in [row["seq"] for row in read_rows(house)]


def test_another_run_touches_all_items_again(house: House) -> None:
    first = request(house)
    assert finish(house).counts["touched"] == 40
    damage(house)
    second = request(house)
    assert second.run != first.run
    assert finish(house).counts["touched"] == 40
    assert find_differences(house) == []


def test_bad_items_are_listed_and_not_touched(house: House) -> None:
    bucket: Any = MemoryObjects()
    dependencies = Dependencies(
        bucket=lambda name, **_more: Bucket(bucket, name), now=lambda: house.now
    )
    handler = project.build(environment(house.stage.name), house.stage.ledger, dependencies)
    house.pump.consumers = [Consumer(handler, ("Invoice", HEARTBEAT_TYPE))]
    bad = {**read_invoices(house)[0], "amount": {"S": "a lot"}}
    store(house, bad)
    house.pump.run()
    request(house)
    job = finish(house)
    assert (job.state, job.counts["touched"]) == ("succeeded", 39)
    assert job.reason == "1 records are set aside: daicho redrive applies them"
    assert [*job.left] == [f"{bad['PK']['S']} {bad['SK']['S']}"]
    assert "_repair" not in next(i for i in read_invoices(house) if i["amount"] == bad["amount"])


def test_the_items_of_one_tenant_are_chosen(house: House) -> None:
    request(house, "t")
    assert finish(house).counts["touched"] == 40
    request(house, "")
    finish(house)
    request(house, "another")
    assert finish(house).counts.get("touched", 0) == 0


def test_runs_exclude_each_other_and_wait_for_a_rebuild(house: House) -> None:
    request(house)
    with pytest.raises(RepairUnderWayError, match="another run is running, for Invoice: "):
        request(house, "t")
    request_rebuild(house.table, {"Invoice": 1}, house.now, rate=1e9)
    job = find_repair(house.table)
    assert job is not None
    assert not house.step(job=job).done
    job = find_repair(house.table)
    assert job is not None
    assert (job.reason, job.counts) == ("a rebuild has priority", {})
    pause_job(house.table, job, house.now)
    with pytest.raises(RepairUnderWayError, match="a rebuild is running, and has priority"):
        request(house)
    house.finish()
    rebuild = find_job(house.table)
    assert rebuild is not None
    assert rebuild.state == "succeeded"
    request(house)
    assert finish(house).state == "succeeded"
