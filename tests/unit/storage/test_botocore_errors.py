"""What botocore raises, in our words: what was surely not done, and what nobody can know."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse, HTTPHeaders
from botocore.exceptions import (
    ChecksumError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
    IncompleteReadError,
    NoCredentialsError,
    ProxyConnectionError,
    ReadTimeoutError,
    ResponseStreamingError,
    SSLError,
)

from daicho.errors import StoreError, ThrottledError, UnansweredError, UnavailableError
from daicho.storage.attributes import ItemKey
from daicho.storage.table import open_table

KEY = ItemKey("a", "b")
URL = "https://dynamodb.invalid"
KEY_RANGE, TABLE_WIDE = (
    "TableWriteKeyRangeThroughputExceeded",
    "TableWriteMaxOnDemandThroughputExceeded",
)


class Wire:
    """What lies beyond a client: it raises, or answers."""

    def __init__(self, failing: Exception | tuple[int, dict[str, Any]], attempts: int = 1) -> None:
        self.failing = failing
        self.sent = 0
        self.table = open_table("t", attempts=attempts, endpoint=URL, region="us-east-1")
        events: Any = self.table._client.meta.events
        events.register("before-send.dynamodb", self.send)

    def send(self, request: Any, **_: Any) -> AWSResponse:
        self.sent += 1
        if isinstance(self.failing, Exception):
            raise self.failing
        status, body = self.failing
        raw: Any = io.BytesIO(json.dumps(body).encode())
        raw.stream = lambda: iter([raw.getvalue()])
        return AWSResponse(request.url, status, HTTPHeaders(), raw)

    def add(self) -> StoreError:
        """What comes of an ``ADD``."""
        with pytest.raises(StoreError) as raised:
            self.table.update(KEY, "ADD n :one", values={":one": {"N": "1"}})
        return raised.value


@pytest.mark.parametrize(
    ("failing", "error"),
    [
        (EndpointConnectionError(endpoint_url=URL), UnavailableError),
        (ConnectTimeoutError(endpoint_url=URL), UnavailableError),
        (NoCredentialsError(), UnavailableError),
        (SSLError(endpoint_url=URL, error=OSError("bad record MAC")), UnansweredError),
        (ProxyConnectionError(proxy_url=URL), UnansweredError),
        (ReadTimeoutError(endpoint_url=URL), UnansweredError),
        (ConnectionClosedError(endpoint_url=URL), UnansweredError),
        (HTTPClientError(error="whatever it is"), UnansweredError),
        (ResponseStreamingError(error="cut"), UnansweredError),
        (IncompleteReadError(actual_bytes=1, expected_bytes=2), UnansweredError),
        (
            ChecksumError(checksum_type="crc32", expected_checksum="1", actual_checksum="2"),
            UnansweredError,
        ),
        ((500, {"__type": "InternalServerError"}), UnansweredError),
        ((503, {"__type": "ServiceUnavailable"}), UnansweredError),
        ((400, {"__type": "ExpiredTokenException"}), UnavailableError),
        ((400, {"__type": "ThrottlingException"}), ThrottledError),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, Exception) else None,
)
def test_who_sends_once_knows_whether_it_may_have_been_done(
    failing: Any, error: type[StoreError], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "5")  # whatever the environment would have it do
    wire = Wire(failing)
    assert type(wire.add()) is error
    assert wire.sent == 1


@pytest.mark.parametrize(
    ("code", "spelt"),
    [
        ("ProvisionedThroughputExceededException", "ThrottlingReasons"),
        ("RequestLimitExceeded", "ThrottlingReasons"),
        ("ThrottlingException", "throttlingReasons"),
    ],
)
@pytest.mark.parametrize(
    ("reasons", "is_of_keys"),
    [
        ([], True),
        ([KEY_RANGE], True),
        ([TABLE_WIDE], False),
        (["TableWriteProvisionedThroughputExceeded"], False),
        (["TableWriteAccountLimitExceeded"], False),
        (["IndexWriteKeyRangeThroughputExceeded"], False),
        ([TABLE_WIDE, KEY_RANGE], True),
    ],
)
def test_a_throttle_says_why(code: str, spelt: str, reasons: list[str], is_of_keys: bool) -> None:
    given = [{"reason": reason, "resource": "arn:table"} for reason in reasons]
    error = Wire((400, {"__type": f"com.amazonaws.dynamodb#{code}", spelt: given})).add()
    assert isinstance(error, ThrottledError)
    assert (error.reasons, error.is_of_keys) == (tuple(reasons), is_of_keys)
