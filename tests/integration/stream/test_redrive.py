"""Quarantine and redrive through their handlers, over Dynoxide and a bucket."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import boto3
import pytest
from moto import mock_aws
from mypy_boto3_dynamodb import DynamoDBClient

from daicho.handlers import project, redrive
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.storage.bucket import Bucket
from daicho.storage.item_key import get_key
from daicho.storage.requests import Query
from daicho.storage.table import Table
from daicho.stream import claims
from daicho.stream.claims import ShardClaims
from tests.support.consistency import differences
from tests.support.redrive_setup import (
    SHARD,
    House,
    Turned,
    Turns,
    break_code,
    render_number,
    write_a_day,
)
from tests.support.sample_ledger import LEDGER
from tests.support.stream_pump import Context, environment


class Deployed:
    """The handlers over one table and one bucket, and a stream that a house in memory wrote."""

    def __init__(
        self, dynamodb: DynamoDBClient, table_name: str, objects: Any, **environ: str
    ) -> None:
        self._dynamodb, self._objects, self.name = dynamodb, objects, table_name
        self.house = House()
        named = {"PROJECT_FUNCTION": "project", "ARCHIVE_FUNCTION": "archive"}
        self.environ = environment(table_name, ARCHIVE_BUCKET="archive", **named, **environ)

    def dependencies(self, turns: Turns) -> Dependencies:
        """Stores of which each call is an operation, and a sleep that takes no time."""
        dynamodb: Any = Turned(self._dynamodb, turns)
        objects: Any = Turned(self._objects, turns)
        return Dependencies(
            table=lambda name, **_: Table(dynamodb, name),
            bucket=lambda name, **_: Bucket(objects, name),
            now=lambda: self.house.now,
            sleep=lambda _seconds: None,
            parallelism=1,
        )

    def write(self) -> None:
        """Base items as they are by now."""
        table = Table(self._dynamodb, self.name)
        standing = {key for key, item in self.items().items() if "type" in item}
        base = {key: item for key, item in self.house.items.items() if "type" in item}
        table.batch_write(base.values(), standing - base.keys())

    def project(self, begin: int = 0, end: int | None = None) -> None:
        handler = project.build(self.environ, LEDGER, self.dependencies(Turns()))
        event = self.house.event(begin, len(self.house.records) if end is None else end)
        assert handler(event, Context()) == {"state": {}, "batchItemFailures": []}

    def redrive(self, turns: Turns | None = None, **event: Any) -> Mapping[str, Any]:
        handler = redrive.build(self.environ, LEDGER, self.dependencies(turns or Turns()))
        return handler({"action": "apply", **event}, Context())

    def discard(self, begin: int, end: int) -> None:
        name = self.house.discard(begin, end)
        body = self.house.objects.stored[name].body
        self._objects.put_object(Bucket="failures", Key=name, Body=body)

    def shard(self, shard: str = SHARD) -> ShardClaims:
        table = Table(self._dynamodb, self.name)
        return ShardClaims.from_item(
            shard, table.get(claims.build_shard_key(shard), consistent=True)
        )

    def items(self) -> dict[Any, Any]:
        found = self._dynamodb.scan(TableName=self.name, ConsistentRead=True)["Items"]
        return {get_key(item): item for item in found}

    def objects(self) -> list[str]:
        page = self._objects.list_objects_v2(Bucket="failures")
        return [each["Key"] for each in page.get("Contents", ())]


@pytest.fixture
def objects() -> Iterator[Any]:
    with mock_aws():
        client = boto3.client("s3", region_name="us-east-1")
        client.create_bucket(Bucket="failures")
        yield client


@pytest.fixture
def deployed(
    dynamodb: DynamoDBClient, table_name: str, objects: Any, monkeypatch: pytest.MonkeyPatch
) -> Deployed:
    made = Deployed(dynamodb, table_name, objects)
    break_code(made.house, monkeypatch)
    return made


def test_poison_is_set_aside_in_the_invocation_that_meets_it(deployed: Deployed) -> None:
    write_a_day(deployed.house)
    deployed.write()
    deployed.project()
    deployed.project()
    assert [claim.seq for claim in deployed.shard().open_claims] == [
        render_number(n) for n in (2, 3, 6)
    ]
    assert deployed.shard().open == 3
    assert deployed.objects() == [
        claims.render_payload_name(SHARD, render_number(n)) for n in (2, 3, 6)
    ]
    table = Table(deployed._dynamodb, deployed.name)
    (page,) = table.query_pages(Query(claims.QUARANTINE, index="GSI2"))
    assert [item["GSI2SK"]["S"] for item in page.items] == [SHARD]


def test_redrive_makes_everything_equal_to_a_recomputation(
    deployed: Deployed, capsys: pytest.CaptureFixture[str]
) -> None:
    write_a_day(deployed.house)
    deployed.write()
    deployed.project()
    listed = deployed.redrive(action="list")
    assert [each["error"]["type"] for each in listed["claims"]] == ["ArithmeticError"] * 3
    assert differences(deployed.items())
    deployed.house.broken.clear()
    report = deployed.redrive()
    assert (report["applied"], report["claims"], report["finished"]) == (3, [], True)
    assert differences(deployed.items()) == []
    assert deployed.redrive()["applied"] == 0
    assert differences(deployed.items()) == []
    assert all(name.startswith("done/") for name in deployed.objects())
    assert capsys.readouterr().out.count("RecordsQuarantined") > 0
