"""The direct client of S3 creates what botocore's client does, and raises what it raises."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import botocore.session
import pytest
from botocore.config import Config
from botocore.exceptions import ConnectTimeoutError

from daicho.storage.direct.objects import DirectObjectClient
from tests.support.direct_clients import LOADER, call
from tests.support.stub_wire import Answer, StubWire, stub_wire

PARAMETERS = {
    "Bucket": "failures",
    "Key": "journal/run/2026-11-21T00:00:00.000_1-é ~.json",
    "Body": b"[1]",
    "ContentType": "application/json",
    "IfNoneMatch": "*",
}
PLACES = (None, "http://localhost:4566")
TIMEOUT = ConnectTimeoutError(endpoint_url="http://s3")


def refuse(code: str, status: int) -> Answer:
    return Answer(f"<Error><Code>{code}</Code><Message>no</Message></Error>".encode(), status)


DONE = Answer(b"")
EXISTS = refuse("PreconditionFailed", 412)
BUSY = refuse("SlowDown", 503)


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token")


@pytest.fixture
def wire() -> Iterator[StubWire]:
    with stub_wire() as stub:
        yield stub


def open_client(url: str | None = None) -> Any:
    style: Any = {"addressing_style": "virtual", "us_east_1_regional_endpoint": "regional"}
    config = Config(
        retries={"mode": "standard", "total_max_attempts": 2},
        signature_version="s3v4",
        s3=style,
        request_checksum_calculation="when_required",
    )
    session = botocore.session.get_session()
    session.register_component("data_loader", LOADER)
    return session.create_client("s3", config=config, endpoint_url=url, region_name="eu-west-1")


def open_direct(wire: StubWire, url: str | None = None) -> DirectObjectClient:
    """A direct client that has seen its first request."""
    client = open_client(url)
    direct = DirectObjectClient(client, client._get_credentials())
    wire.expect(DONE)
    direct.put_object(**PARAMETERS)
    wire.expect(DONE)
    return direct


@pytest.mark.parametrize("url", PLACES)
def test_an_object_is_put_where_botocore_puts_it(wire: StubWire, url: str | None) -> None:
    wire.expect(DONE)
    open_client(url).put_object(**PARAMETERS)
    (usual,) = wire.sent
    direct = open_direct(wire, url)
    answer = direct.put_object(**PARAMETERS)
    (sent,) = wire.sent
    assert (sent.url, sent.body) == (usual.url, usual.body)
    for name in ("Content-Type", "If-None-Match", "User-Agent", "X-Amz-Security-Token"):
        assert sent.headers[name] == usual.headers[name]
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 200
    assert len(sent.headers) < len(usual.headers)  # it was not botocore that sent it


@pytest.mark.parametrize(
    "outcomes",
    [(EXISTS,), (BUSY, DONE), (BUSY, EXISTS), (BUSY, BUSY), (TIMEOUT, DONE)],
)
def test_a_failure_is_the_first_attempt_of_botocore(
    wire: StubWire, outcomes: tuple[Answer | Exception, ...]
) -> None:
    def attempt(client: Any) -> tuple[Any, int]:
        wire.expect(*outcomes)
        answer = call(client, "put_object", PARAMETERS)
        return answer, len(wire.sent)

    assert attempt(open_direct(wire)) == attempt(open_client())


@pytest.mark.parametrize(
    "change", [lambda given: given | {"Metadata": {"a": "b"}}, lambda given: given | {"ACL": "x"}]
)
def test_other_objects_are_put_by_botocore(
    wire: StubWire, change: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    def send(client: Any) -> set[str]:
        wire.expect(DONE)
        client.put_object(**change(PARAMETERS))
        return set(wire.sent[0].headers)

    assert send(open_direct(wire)) == send(open_client())
