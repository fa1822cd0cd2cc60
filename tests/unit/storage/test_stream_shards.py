"""The description of a stream: pages, closed shards, and errors."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from daicho.errors import UnavailableError
from daicho.storage.protocols import StreamShard
from daicho.storage.stream_shards import StreamDescriber, open_stream_describer
from daicho.testing.aws.client_errors import build_error

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/t/stream/2026-11-21T00:00:00.000"
PAGES: list[dict[str, Any]] = [
    {
        "Shards": [
            {
                "ShardId": "a",
                "SequenceNumberRange": {"StartingSequenceNumber": "1", "EndingSequenceNumber": "9"},
            }
        ],
        "LastEvaluatedShardId": "a",
    },
    {
        "Shards": [
            {
                "ShardId": "b",
                "ParentShardId": "a",
                "SequenceNumberRange": {"StartingSequenceNumber": "10"},
            }
        ]
    },
]


class FakeClients:
    """Both clients: they answer with `PAGES`, or fail."""

    def __init__(self, arn: str | None = ARN, error: ClientError | None = None) -> None:
        self.arn = arn
        self.error = error
        self.starts: list[str | None] = []

    def describe_table(self, TableName: str) -> dict[str, Any]:
        return {"Table": {"LatestStreamArn": self.arn} if self.arn else {"TableName": TableName}}

    def describe_stream(
        self,
        StreamArn: str,
        ExclusiveStartShardId: str | None = None,
    ) -> dict[str, Any]:
        assert StreamArn == self.arn
        if self.error is not None:
            raise self.error
        self.starts.append(ExclusiveStartShardId)
        return {"StreamDescription": PAGES[len(self.starts) - 1]}


def describe(clients: FakeClients) -> tuple[StreamShard, ...]:
    client: Any = clients
    return StreamDescriber(client, client, "t").list_shards()


def test_all_pages_are_read() -> None:
    clients = FakeClients()
    assert describe(clients) == (StreamShard("a", None, True), StreamShard("b", "a", False))
    assert clients.starts == [None, "a"]


def test_an_error_of_aws_is_one_of_ours() -> None:
    error = build_error("LimitExceededException", "DescribeStream", "slow down")
    with pytest.raises(UnavailableError, match="describe the stream of t"):
        describe(FakeClients(error=error))


def test_clients_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    describer = open_stream_describer("t", endpoint="http://localhost:1", region="us-east-1")
    with pytest.raises(UnavailableError):
        describer.list_shards()
