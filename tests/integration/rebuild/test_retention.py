"""A changed retention over Dynoxide: touches and writes give existing items their new expiry."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from daicho import Aggregate, Expires, Sum, changed_at, month, one_of
from daicho.rebuild.requests import plan_targets
from daicho.storage.attributes import get_integer
from daicho.storage.item_key import ItemKey
from tests.support.changed_invoices import NOON, Stage
from tests.support.rebuilt_invoices import House, deploy_projector, put
from tests.support.stream_pump import Pump

DAY = 86_400
CREATED = int(NOON.timestamp())
Change = Callable[[dict[str, Any]], None]


def keep_days(days: int | None) -> Change:
    def change(body: dict[str, Any]) -> None:
        if days is not None:
            body["expires"] = Expires(after=dt.timedelta(days=days))
            body["revenue"] = Aggregate(
                Sum(body["amount"]),
                body["country"],
                within=month(body["at"]),
                ranked=True,
                on_expiry="subtract",
            )

    return change


@pytest.fixture
def house(
    dynamo: str, dynamodb: DynamoDBClient, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> House:
    monkeypatch.setenv("AWS_ENDPOINT_URL", dynamo)
    return House(Stage(dynamodb, table_name), Pump(dynamodb, dynamo, table_name, []))


def deploy(house: House, change: Change) -> None:
    house.stage.deploy(change)
    deploy_projector(house)


def read_ttl(house: House, id: str) -> int | None:
    image = house.table.get(ItemKey(f"t#Invoice#{id}", "-"), consistent=True)
    assert image is not None
    return get_integer(image, "ttl")


def keep_by_rule(**rule: Any) -> Change:
    """Expire 7 days after a field or the last change; ``where``: a value of the status."""

    def change(body: dict[str, Any]) -> None:
        keep_days(7)(body)
        read = {"of": body.get(rule["of"], changed_at)}
        if "where" in rule:
            read["where"] = one_of(body["status"], rule["where"])
        body["expires"] = Expires(dt.timedelta(days=7), **read)

    return change


@pytest.mark.parametrize(
    ("rule", "start"),
    [
        ({"of": "at"}, CREATED),
        ({"of": "at", "where": "open"}, CREATED),
        ({"of": "at", "where": "void"}, None),
        ({"of": "changed_at"}, CREATED + 3 * DAY),
    ],
)
def test_a_touch_gives_existing_items_the_expiry_of_another_rule(
    house: House, rule: dict[str, str], start: int | None
) -> None:
    deploy(house, keep_days(30))
    put(house, "1", status="open", at=NOON)
    deploy(house, keep_by_rule(**rule))
    house.now = NOON + dt.timedelta(days=3)
    house.start()
    assert house.finish().state == "succeeded"
    assert read_ttl(house, "1") == (None if start is None else start + 7 * DAY)


@pytest.mark.parametrize(("before", "after"), [(7, 30), (30, 7), (7, None), (None, 7)])
def test_a_touch_gives_existing_items_the_new_expiry(
    house: House, before: int | None, after: int | None
) -> None:
    deploy(house, keep_days(before))
    put(house, "1")
    deploy(house, keep_days(after))
    assert plan_targets(house.stage.ledger, {"Invoice": house.read_state()}) == {"Invoice": 2}
    house.start()
    assert house.finish().state == "succeeded"
    assert read_ttl(house, "1") == (None if after is None else CREATED + after * DAY)
    assert house.stage.book.get(house.stage.entity.key("1")).version == 1
