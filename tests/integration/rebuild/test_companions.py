"""Companion items over Dynoxide: reservations that a touch writes with its item, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from daicho.plan import EntityPlan
from daicho.rebuild import item_touch
from daicho.storage.attributes import Image, get_text, to_value
from daicho.storage.item_key import ItemKey
from tests.support.changed_invoices import Stage
from tests.support.rebuilt_invoices import House, change_three, deploy_projector, put
from tests.support.stream_pump import Pump


def reserve_customer(plan: EntityPlan, image: Image) -> Sequence[Image]:
    """A reservation of the customer's name, which one item may have."""
    del plan
    return ({"PK": {"S": f"t#!Invoice.customer#{image['customer']['S']}"}, "SK": {"S": "-"}},)


@pytest.fixture
def house(
    dynamo: str, dynamodb: DynamoDBClient, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> House:
    monkeypatch.setenv("AWS_ENDPOINT_URL", dynamo)
    house = House(Stage(dynamodb, table_name), Pump(dynamodb, dynamo, table_name, []))
    house.stage.deploy()
    for id, customer in (("1", "Ada"), ("2", "Grace"), ("3", "Mary")):
        put(house, id, customer=customer)
    house.stage.deploy(change_three)
    deploy_projector(house)
    reserving = property(lambda house: replace(build(house), list_companions=reserve_customer))
    monkeypatch.setattr(House, "rebuild", reserving)
    return house


build: Any = House.rebuild.fget  # type: ignore[attr-defined]


def find_owner(house: House, customer: str) -> str | None:
    image = house.table.get(ItemKey(f"t#!Invoice.customer#{customer}", "-"), consistent=True)
    return get_text(image or {}, "owner")


def test_a_touch_writes_the_companions_of_its_item(house: House) -> None:
    house.start()
    assert house.finish().state == "succeeded"
    names = ("Ada", "Grace", "Mary")
    assert [find_owner(house, name) for name in names] == [f"t#Invoice#{n} -" for n in (1, 2, 3)]
    # Once more is the same: the owner has it already.
    image = {**read(house, "1"), "gen": {"N": "1"}}
    house.table.batch_write([image])
    touch = item_touch.plan_touch(house.stage.ledger, image, 2, house.now, reserve_customer)
    assert touch.send(house.table)
    assert not touch.send(house.table)


def read(house: House, id: str) -> Image:
    image = house.table.get(ItemKey(f"t#Invoice#{id}", "-"), consistent=True)
    assert image is not None
    return image


def test_two_items_with_one_value_are_an_obstacle_that_names_both(house: House) -> None:
    put(house, "4", customer="Ada")
    house.table.batch_write([{**read(house, "4"), "gen": {"N": "1"}}])
    house.start()
    for _ in range(6):
        house.step()
        if house.find_job().state == "blocked":
            break
    job = house.find_job()
    assert job.state == "blocked"
    ((item, obstacle),) = job.left.items()
    left, owner = item.partition(" ")[0][-1], str(find_owner(house, "Ada")).partition(" ")[0][-1]
    assert {left, owner} == {"1", "4"}
    assert obstacle == f"t#!Invoice.customer#Ada - belongs to t#Invoice#{owner} -"
    assert read(house, left)["gen"] == {"N": "1"}
    put(house, left, customer="Katherine")
    assert house.finish().left == {}


def test_a_conflict_at_the_moment_of_the_touch_writes_nothing(house: House) -> None:
    put(house, "4", customer="Ada")
    images = [{**read(house, id), "gen": to_value(1)} for id in ("1", "4")]
    house.table.batch_write(images)
    ledger = house.stage.ledger
    touches = [
        item_touch.plan_touch(ledger, image, 2, house.now, reserve_customer) for image in images
    ]
    for touch in touches:
        touch.check(house.table)
    assert touches[0].send(house.table)
    with pytest.raises(item_touch.ObstacleError, match="belongs to t#Invoice#1"):
        touches[1].send(house.table)
    assert read(house, "4")["gen"] == {"N": "1"}


def test_nothing_is_reserved_for_an_item_that_changed_meanwhile(house: House) -> None:
    image = read(house, "1")
    touch = item_touch.plan_touch(house.stage.ledger, image, 2, house.now, reserve_customer)
    house.stage.roll_back()
    put(house, "1", customer="Katherine")
    assert not touch.send(house.table)
    assert find_owner(house, "Ada") is None
