"""A unique value is added to live data, over Dynoxide: conflicts, lookups, rollback, purge."""

from __future__ import annotations

from typing import Any

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from daicho import Unique
from daicho.errors import BeingBuilt, NotUnique
from tests.simulator.oracle.unique_values import UniqueValues, compare_unique_values
from tests.support.changed_invoices import NOON, Stage
from tests.support.rebuilt_invoices import House, deploy_projector, put
from tests.support.stream_pump import Pump

NOW = int(NOON.timestamp())


def make_unique(body: dict[str, Any]) -> None:
    body["one"] = Unique(body["customer"], fold=True)


@pytest.fixture
def house(
    dynamo: str, dynamodb: DynamoDBClient, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> House:
    """A stage with five invoices from before their customer was unique."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", dynamo)
    house = House(Stage(dynamodb, table_name), Pump(dynamodb, dynamo, table_name, []))
    house.stage.deploy()
    deploy_projector(house)
    for number in range(5):
        put(house, str(number), customer=f"Ada {number}")
    return house


def deploy(house: House, *args: Any) -> None:
    house.stage.deploy(*args)
    deploy_projector(house)


def compare(house: House) -> UniqueValues:
    images = house.stage.dynamodb.scan(TableName=house.stage.name)["Items"]
    return compare_unique_values(images, house.stage.ledger, NOW)


def find(house: House, customer: str) -> Any:
    return house.stage.book.find(house.stage.entity.one(customer))


def test_two_items_with_one_value_block_until_one_is_changed(house: House) -> None:
    put(house, "twin", customer="ADA 3")
    deploy(house, make_unique)
    put(house, "new", customer="ada 4")  # taken from an item that has no reservation yet
    house.start(without=True)
    for _ in range(8):
        house.step()
        if house.find_job().state == "blocked":
            break
    job = house.find_job()
    assert job.state == "blocked"
    assert "2 items have a unique value that another item has" in job.reason
    assert "--without does not accept them" in job.reason
    reasons = sorted(job.left.items())
    assert reasons[0][0] in ("t#Invoice#3 -", "t#Invoice#4 -")
    assert "one: Invoice new has the same customer" in job.left.values()
    with pytest.raises(BeingBuilt):
        find(house, "ada 3")
    for item in job.left:
        house.stage.book.change(
            house.stage.entity.key(item.split("#")[2][:-2]), {"customer": f"other {item}"}
        )
    assert house.finish().state == "succeeded"
    assert find(house, "ada 4").id == "new"
    compared = compare(house)
    assert (compared.items, compared.differences, compared.unowned) == (7, [], [])


def test_a_touch_takes_over_what_nobody_owns(house: House) -> None:
    """Items are deleted and changed by code that was rolled back, which knows no reservations."""
    deploy(house, make_unique)
    for number in range(3):
        put(house, str(number), customer=f"Ada {number}")
    house.stage.roll_back()
    book, key = house.stage.book, house.stage.entity.key
    book.delete(key("0"))
    book.change(key("1"), {"customer": "Ada 0"})
    put(house, "twin", customer="Ada 2")
    deploy(house, make_unique)
    with pytest.raises(NotUnique):
        put(house, "new", customer="ada 2")
    put(house, "new", customer="ada 1")
    book.delete(key("twin"))
    house.start()
    assert house.finish().state == "succeeded"
    assert find(house, "ada 0").id == "1"
    assert find(house, "ada 1").id == "new"
    assert compare(house).differences == []
    assert compare(house).unowned == []
