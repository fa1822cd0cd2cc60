"""Aggregates that keep expired items, completed from the archive (rule 33), over Dynoxide."""

from __future__ import annotations

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from daicho.errors import BeingBuilt
from tests.support.visits_that_expire import VisitStage


@pytest.fixture
def house(
    dynamo: str, dynamodb: DynamoDBClient, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> VisitStage:
    monkeypatch.setenv("AWS_ENDPOINT_URL", dynamo)
    house = VisitStage(dynamodb, dynamo, table_name)
    house.deploy(keeps=False)
    return house


def test_what_expired_before_during_and_after_is_counted(house: VisitStage) -> None:
    house.visit("1", "22", "333", "4444")
    house.visit("1", "22", tenant="two")
    house.expire()
    house.visit("5", "66", "777")
    house.expire(days=1)  # nothing; these are live
    house.deploy(keeps=True)
    with pytest.raises(BeingBuilt):
        house.book().read(house.entity.ever("a"))
    house.start()
    house.step()  # touches
    house.visit("8", "99")
    house.expire()  # touched items and items of the second generation
    job = house.finish()
    assert (job.state, job.reason, job.left) == ("succeeded", "", {})
    assert job.counts["archived_rows"] == 6
    assert house.read_state().lacking == frozenset()
    for tenant in ("one", "two"):
        assert house.read_figures(tenant) == house.count_plainly(tenant)
    assert house.read_figures()[1] == 1 + 2 + 3 + 4 + 1 + 2 + 3 + 1 + 2
    house.visit("10")
    house.expire()
    assert house.finish().state == "succeeded"
    assert house.read_figures() == house.count_plainly()
