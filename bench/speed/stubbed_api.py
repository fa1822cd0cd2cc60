"""A table behind botocore's HTTP session: what the API and its peer send is answered in memory.

Each distinct request is answered once by the simulator's table. Its answer, as DynamoDB would send
it, is kept, so that a repeated request costs a look-up and neither side is charged for the table.
"""

from __future__ import annotations

import json
import re
import zlib
from io import BytesIO
from typing import Any, Self
from unittest.mock import patch

from botocore.awsrequest import AWSPreparedRequest, AWSResponse, HeadersDict
from botocore.httpsession import URLLib3Session

from daicho.testing.aws.memory_dynamodb import MemoryDynamoDB

WORD_START = re.compile(r"(?<=[a-z])(?=[A-Z])")


class _Body(BytesIO):
    """The body of an answer, as urllib3 gives it."""

    def stream(self, *_: object, **__: object) -> Any:
        """The whole body."""
        yield self.read()


class StubbedHttp:
    """Answers the requests of all DynamoDB clients while it is entered.

    ``table``: answers a request that was not sent before. A write is always answered as done.
    """

    def __init__(self, table: MemoryDynamoDB) -> None:
        self._table = table
        self._answers: dict[tuple[str, bytes], tuple[bytes, Any]] = {}
        self._patch = patch.object(URLLib3Session, "send", self._send)
        self.requests = 0

    def __enter__(self) -> Self:
        self._patch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._patch.stop()

    def _send(self, request: AWSPreparedRequest) -> AWSResponse:
        self.requests += 1
        target = request.headers["X-Amz-Target"]
        operation = (target.decode() if isinstance(target, bytes) else target).partition(".")[2]
        sent: Any = request.body
        body: bytes = sent.encode() if isinstance(sent, str) else bytes(sent)
        key = (operation, b"" if operation == "PutItem" else body)
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = self._ask_table(operation, body)
        content, headers = answer
        return AWSResponse(request.url, 200, headers, _Body(content))

    def _ask_table(self, operation: str, body: bytes) -> tuple[bytes, Any]:
        answered: dict[str, Any] = {}
        if operation != "PutItem":
            method = WORD_START.sub("_", operation).lower()
            answered = getattr(self._table, method)(**json.loads(body))
        content = json.dumps(answered, separators=(",", ":")).encode()
        headers = {
            "Server": "Server",
            "Content-Type": "application/x-amz-json-1.0",
            "Content-Length": str(len(content)),
            "Connection": "keep-alive",
            "x-amzn-RequestId": "REQUEST" * 8,
            "x-amz-crc32": str(zlib.crc32(content)),
        }
        return content, HeadersDict(headers)
