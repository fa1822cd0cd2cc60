"""The audit's function, over Dynoxide and a bucket: what the archiver left is verified."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from typing import Any

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from daicho.archive.archiver import Archiver
from daicho.handlers import audit
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.handlers.wiring.invocation import Handler
from daicho.storage.bucket import Bucket
from daicho.storage.table import Table
from tests.support.memory_archive import PATIENCE, build_expired_batch
from tests.support.memory_stores import MemoryObjects
from tests.support.metric_lines import read_values
from tests.support.sample_ledger import LEDGER
from tests.support.stream_pump import Context, environment

BUCKET = "archive"
NOON = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)


class Audited:
    """A table and a bucket with an archive in it, and the function over them."""

    def __init__(self, dynamodb: DynamoDBClient, name: str, s3: Any) -> None:
        self.s3 = s3
        self.table, self.bucket = Table(dynamodb, name), Bucket(s3, BUCKET)
        self.now = NOON
        environ = environment(name, ARCHIVE_BUCKET=BUCKET)
        dependencies = Dependencies(
            table=lambda *_, **__: self.table,
            bucket=lambda *_, **__: self.bucket,
            now=lambda: self.now,
        )
        self.handler: Handler = audit.build(environ, LEDGER, dependencies)

    def archive(self, *numbers: int) -> None:
        archiver = Archiver(self.table, self.bucket, LEDGER, now=lambda: self.now)
        given = build_expired_batch(*numbers, at=int(self.now.timestamp()))
        assert archiver.archive(given, PATIENCE) is None

    def run(self, **event: Any) -> dict[str, Any]:
        return self.handler(event, Context())

    def names(self) -> Sequence[str]:
        return [each["Key"] for each in self.s3.list_objects_v2(Bucket=BUCKET)["Contents"]]


@pytest.fixture
def audited(dynamodb: DynamoDBClient, table_name: str) -> Audited:
    made = Audited(dynamodb, table_name, MemoryObjects())
    made.archive(1, 2, 3)
    made.archive(4, 5)
    return made


def test_a_sound_archive(audited: Audited, capsys: pytest.CaptureFixture[str]) -> None:
    said = audited.run()
    assert (said["left"], said["mismatches"], said["given_up"]) == (0, 0, [])
    assert said["report"]["counts"]["rows"] == 5
    assert json.loads(json.dumps(said)) == said  # Lambda answers in JSON
    assert read_values(capsys.readouterr().out) == {
        "ArchiveDeletionsAudited": 5,
        "ArchiveRowsAudited": 5,
    }


def test_a_removed_object_is_told_each_hour_until_it_is_back(
    audited: Audited, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    name = max(audited.names())
    found = audited.s3.get_object(Bucket=BUCKET, Key=name)
    body, metadata = found["Body"].read(), found["Metadata"]
    audited.s3.delete_object(Bucket=BUCKET, Key=name)
    said = audited.run()
    assert said["report"]["kinds"] == {"removed": 2}  # the watermark says so, and the rows
    assert "does not add up" in caplog.text
    assert read_values(capsys.readouterr().out)["ArchiveMismatches"] == 2

    audited.now += dt.timedelta(seconds=1)
    audited.run()
    assert read_values(capsys.readouterr().out) == {"ArchiveMismatches": 2, "ArchiveProblems": 2}

    audited.s3.put_object(Bucket=BUCKET, Key=name, Body=body, Metadata=metadata)
    audited.run(again=True)
    told = read_values(capsys.readouterr().out)
    assert "ArchiveMismatches" not in told
    assert told["ArchiveRowsAudited"] == 5
