"""DynamoDB's answers without a socket: the HTTP session of botocore is replaced by a stub.

Signing, serialising and parsing are measured, and no network. Each answer is one that DynamoDB
would send to a request that succeeds, with its checksum.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from botocore.awsrequest import AWSPreparedRequest, AWSResponse, HeadersDict
from botocore.httpsession import URLLib3Session

CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test" * 10,
    "AWS_SESSION_TOKEN": "session-token-" * 48,  # as long as that of a function's role
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_REGION": "us-east-1",
}
"""The environment of a function, as far as its requests depend on it."""


@contextmanager
def stub_http() -> Iterator[None]:
    """Answer each request of botocore's sessions at once."""
    with mock.patch.object(URLLib3Session, "send", lambda _session, request: answer(request)):
        yield


def answer(request: AWSPreparedRequest) -> AWSResponse:
    """The answer of DynamoDB to a request that succeeds."""
    body = _write_answer(_get_operation(request), request.body)
    response: Any = AWSResponse(
        request.url,
        200,
        HeadersDict(
            {
                "Content-Type": "application/x-amz-json-1.0",
                "Content-Length": str(len(body)),
                "x-amzn-RequestId": "K2KH5K6VQ5LEGJTKPQQN2JR9FNVV4KQNSO5AEMVJF66Q9ASUAAJG",
                "x-amz-crc32": str(zlib.crc32(body)),
            }
        ),  # type: ignore[arg-type]
        None,
    )
    response._content = body  # what botocore keeps once it has read the body
    stubbed: AWSResponse = response
    return stubbed


def _get_operation(request: AWSPreparedRequest) -> str:
    target: Any = request.headers["X-Amz-Target"]
    text: str = target.decode() if isinstance(target, bytes) else target
    return text.rpartition(".")[2]


def _write_answer(operation: str, body: Any) -> bytes:
    """The body of an answer; bodies of requests that return nothing are not parsed."""
    if operation == "BatchExecuteStatement":
        count = len(json.loads(body)["Statements"])
        return json.dumps({"Responses": [{"TableName": "daicho"}] * count}).encode()
    if operation == "BatchWriteItem":
        return b'{"UnprocessedItems":{}}'
    if operation == "UpdateItem" and "ALL_NEW" in (
        body if isinstance(body, str) else body.decode()
    ):
        return json.dumps({"Attributes": _update_new_item(json.loads(body))}).encode()
    return b"{}"


def _update_new_item(request: dict[str, Any]) -> dict[str, Any]:
    """The item that an update with ``SET name = :value`` actions creates."""
    names = request.get("ExpressionAttributeNames", {})
    values = request["ExpressionAttributeValues"]
    item = dict(request["Key"])
    for action in request["UpdateExpression"].removeprefix("SET ").split(", "):
        name, _, value = action.partition(" = ")
        if value in values:
            item[names.get(name, name)] = values[value]
    return item
