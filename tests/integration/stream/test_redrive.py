"""Quarantine and redrive through their handlers, over Dynoxide and a bucket."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from daicho.handlers import redrive
from daicho.storage.requests import Query
from daicho.stream import claims
from daicho.stream.claims import ShardClaims
from tests.support.memory_stores import MemoryObjects
from tests.support.operator_stack import OperatorStack
from tests.support.redrive_setup import SHARD, break_code, render_number, write_a_day
from tests.support.sample_ledger import LEDGER
from tests.support.stream_pump import Context


class Deployed(OperatorStack):
    """The handlers over one table and one bucket, with what the code of a day could not derive."""

    def redrive(self, **event: Any) -> Mapping[str, Any]:
        handler = redrive.build(self.environ, LEDGER, self.dependencies)
        return handler({"action": "apply", **event}, Context())

    def list_objects(self) -> list[str]:
        page = self.objects.list_objects_v2(Bucket="failures")
        return [each["Key"] for each in page.get("Contents", ())]


@pytest.fixture
def deployed(
    dynamodb: DynamoDBClient, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> Deployed:
    made = Deployed(dynamodb, table_name, MemoryObjects(), stage="dev")
    break_code(made.house, monkeypatch)
    write_a_day(made.house)
    made.project()
    return made


def test_poison_is_set_aside_in_the_invocation_that_meets_it(deployed: Deployed) -> None:
    deployed.project()
    item = deployed.table.get(claims.build_shard_key(SHARD), consistent=True)
    shard = ShardClaims.from_item(SHARD, item)
    places = [render_number(number) for number in (2, 3, 6)]
    assert ([claim.seq for claim in shard.open_claims], shard.open) == (places, 3)
    names = [claims.render_payload_name(SHARD, place) for place in places]
    assert deployed.list_objects() == names
    (page,) = deployed.table.query_pages(Query(claims.QUARANTINE, index="GSI2"))
    assert [item["GSI2SK"]["S"] for item in page.items] == [SHARD]


def test_redrive_makes_everything_equal_to_a_recomputation(
    deployed: Deployed, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = deployed.redrive(action="list")
    assert [each["error"]["type"] for each in listed["claims"]] == ["ArithmeticError"] * 3
    assert deployed.differences()
    deployed.house.broken.clear()
    report = deployed.redrive()
    assert (report["applied"], report["claims"], report["finished"]) == (3, [], True)
    assert deployed.differences() == []
    assert deployed.redrive()["applied"] == 0
    assert deployed.differences() == []
    assert all(name.startswith("done/") for name in deployed.list_objects())
    assert capsys.readouterr().out == ""
