"""The template of requests is a request of botocore in which nothing is unexpected."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from botocore.awsrequest import AWSPreparedRequest
from botocore.credentials import ReadOnlyCredentials

from daicho.storage.direct.template import RequestTemplate

HEADERS = {
    "X-Amz-Target": b"DynamoDB_20120810.Scan",
    "Content-Type": b"application/x-amz-json-1.0",
    "User-Agent": b"Botocore/1",
    "X-Amz-Date": b"20261123T000000Z",
    "Authorization": b"AWS4-HMAC-SHA256 Credential=a/20261123/eu-west-1/dynamodb/aws4_request, "
    b"SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature=" + b"0" * 64,
    "amz-sdk-invocation-id": b"x",
    "amz-sdk-request": b"attempt=1; max=3",
    "Content-Length": "2",
}
CREDENTIALS: Any = ReadOnlyCredentials("a", "b", None, None)
MOMENT = dt.datetime(2026, 11, 23, tzinfo=dt.UTC)


def learn(
    url: str = "http://localhost:8000/", method: str = "POST", **changed: Any
) -> RequestTemplate | None:
    headers: Any = HEADERS | changed
    return RequestTemplate.learn(AWSPreparedRequest(method, url, headers, b"{}", False, {}))


@pytest.mark.parametrize(
    "changed",
    [
        {"method": "GET"},
        {"url": "http://localhost/?query"},
        {"X-Another": b"header"},
        {"Content-Type": b"application/cbor"},
        {"amz-sdk-request": b"attempt=2; max=3"},
        {"Authorization": b"Bearer token"},
        {"Authorization": HEADERS["Authorization"].replace(b"HMAC", b"ECDSA-P256")},  # type: ignore[attr-defined]
        {"Authorization": HEADERS["Authorization"].replace(b";host", b";date;host")},  # type: ignore[attr-defined]
    ],
    ids=str,
)
def test_a_request_with_anything_unexpected_is_no_template(changed: dict[str, Any]) -> None:
    assert learn(**changed) is None


def test_the_trace_of_the_invocation_is_sent_in_lambda(monkeypatch: pytest.MonkeyPatch) -> None:
    template = learn()
    assert template is not None

    def get_trace() -> Any:
        request = template.build_request("GetItem", b"{}", CREDENTIALS, MOMENT, "id")
        return request.headers.get("X-Amzn-Trace-Id")

    monkeypatch.setenv("_X_AMZN_TRACE_ID", "Root=1-5;Sampled=1 é")
    assert get_trace() is None
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "api")
    assert get_trace() == "Root=1-5;Sampled=1%20%C3%A9"
    monkeypatch.setenv("_X_AMZN_TRACE_ID", "Root=2")
    assert get_trace() == "Root=2"
