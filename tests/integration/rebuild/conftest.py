"""The stage that the tests of this folder begin with."""

from __future__ import annotations

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from tests.support.changed_invoices import Stage
from tests.support.rebuilt_invoices import House, deploy_projector, put
from tests.support.stream_pump import Pump


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
