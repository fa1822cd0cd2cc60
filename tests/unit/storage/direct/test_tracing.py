"""Tracers see the calls of a direct client, with their answers and errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import wrapt
from botocore.client import BaseClient
from botocore.exceptions import ClientError

from daicho.storage.direct.tracing import get_patched
from tests.support.direct_clients import FAILED, open_direct
from tests.support.stub_wire import Answer, StubWire, stub_wire
from tests.unit.storage.direct.test_client import REFUSED


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")


@pytest.fixture
def wire() -> Iterator[StubWire]:
    with stub_wire() as stub:
        yield stub


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What two tracers see, the outer one first."""
    seen: list[Any] = []

    def wrap(name: str) -> Any:
        def tracer(call: Any, client: BaseClient, given: Any, named: Any) -> Any:
            try:
                answer = call(*given, **named)
            except ClientError as error:
                seen.append(
                    (name, client.meta.region_name, given[0], error.response["Error"]["Code"])
                )
                raise
            seen.append((name, client.meta.region_name, given[0], answer["ResponseMetadata"]))
            return answer

        return tracer

    wrapped = wrapt.FunctionWrapper(get_patched(), wrap("inner"))
    monkeypatch.setattr(BaseClient, "_make_api_call", wrapt.FunctionWrapper(wrapped, wrap("outer")))
    return seen


def test_each_call_is_seen_once_by_each_tracer(wire: StubWire, seen: list[Any]) -> None:
    direct = open_direct(wire)
    seen.clear()
    wire.expect(Answer(), REFUSED, FAILED, Answer())
    direct.scan(TableName="t")
    with pytest.raises(ClientError):
        direct.put_item(TableName="t", Item={})
    answer = direct.get_item(TableName="t", Key={})
    assert answer["ResponseMetadata"]["RetryAttempts"] == 1
    assert [event[:3] for event in seen] == [
        (name, "eu-west-1", operation)
        for operation in ("Scan", "PutItem", "GetItem")
        for name in ("inner", "outer")
    ]
    assert seen[0][3]["HTTPStatusCode"] == 200
    assert seen[2][3] == "ConditionalCheckFailedException"
    assert all(sent.headers["amz-sdk-request"].startswith("attempt=") for sent in wire.sent)


def test_the_lean_path_is_taken_within_tracers(
    wire: StubWire, seen: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    direct = open_direct(wire)
    monkeypatch.setattr(direct.botocore_client, "_convert_to_request_dict", None)
    assert direct.scan(TableName="t")["ResponseMetadata"]["RetryAttempts"] == 0
    assert len(seen) >= 2
