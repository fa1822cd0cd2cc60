"""Answers of AWS without a socket: the HTTP session of botocore is replaced by a stub.

Signing, serialising and parsing are measured, and no network. Each answer is one that DynamoDB
would send to a request that succeeds, with its checksum.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from botocore.awsrequest import AWSPreparedRequest, AWSResponse, HeadersDict
from botocore.httpsession import URLLib3Session

from daicho.stream.journal import NO_RUN

if TYPE_CHECKING:
    from daicho.testing.aws.memory_dynamodb import MemoryDynamoDB

Answer = Callable[[str, bytes], bytes]
"""From an operation of DynamoDB and the body of the request to the body of the answer."""
_WORD_START = re.compile(r"(?<=[a-z])(?=[A-Z])")


def answer_as_new_table(operation: str, body: bytes, flag: str = NO_RUN) -> bytes:
    """Writes are done; bodies of most requests are not parsed.

    ``flag``: of the journal in shards; by default no verification is under way.
    """
    match operation:
        case "BatchExecuteStatement":
            statements = [b'{"TableName":"daicho"}'] * body.count(b'"Statement":')
            return b'{"Responses":[' + b",".join(statements) + b"]}"
        case "UpdateItem" if b"ALL_NEW" in body:
            item = _update_new_item(json.loads(body)) | {"journal": {"S": flag}}
            return json.dumps({"Attributes": item}).encode()
        case _:
            return b"{}"


class TableAnswers:
    """The answers of a table in memory to reads; a put is always answered as done.

    Each distinct request is answered once by the table. Its answer is kept, so that a repeated
    request costs a look-up and neither side of a comparison is charged for the table.
    """

    def __init__(self, table: MemoryDynamoDB) -> None:
        self._table = table
        self._answers: dict[tuple[str, bytes], bytes] = {}

    def __call__(self, operation: str, body: bytes) -> bytes:
        """The answer to a request."""
        key = (operation, b"" if operation == "PutItem" else body)
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = self._ask_table(operation, body)
        return answer

    def _ask_table(self, operation: str, body: bytes) -> bytes:
        if operation == "PutItem":
            return b"{}"
        method = getattr(self._table, _WORD_START.sub("_", operation).lower())
        return json.dumps(method(**json.loads(body)), separators=(",", ":")).encode()


class StubbedHttp:
    """Answers each request of botocore's HTTP sessions at once while it is entered.

    Attributes:
        answer: how each request is answered.
        requests: the number of requests so far.
    """

    def __init__(self, answer: Answer = answer_as_new_table) -> None:
        self.answer = answer
        self._send = URLLib3Session.send
        self.requests = 0

    def __enter__(self) -> StubbedHttp:
        session: Any = URLLib3Session
        session.send = lambda _session, request: self._respond(request)
        return self

    def __exit__(self, *_: object) -> None:
        session: Any = URLLib3Session
        session.send = self._send

    def _respond(self, request: AWSPreparedRequest) -> AWSResponse:
        self.requests += 1
        target: Any = request.headers.get("X-Amz-Target", "")
        text: str = target.decode() if isinstance(target, bytes) else target
        sent: Any = request.body
        body = sent.encode() if isinstance(sent, str) else sent
        content = self.answer(text.rpartition(".")[2], body) if text else b""  # S3 has no target
        headers: Any = HeadersDict(
            {
                "Server": "Server",
                "Content-Type": "application/x-amz-json-1.0",
                "Content-Length": str(len(content)),
                "Connection": "keep-alive",
                "ETag": '"0"',
                "x-amzn-RequestId": "REQUEST" * 8,
                "x-amz-crc32": str(zlib.crc32(content)),
            }
        )
        raw: Any = _Body(content)
        return AWSResponse(request.url, 200, headers, raw)


class _Body:
    """The body of an answer, as urllib3 gives it."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def stream(self, *_: object, **__: object) -> Iterator[bytes]:
        """The whole body."""
        yield self._content


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
