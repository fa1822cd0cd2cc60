"""The wire behind botocore's HTTP sessions: records each request, and answers or raises in turn."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch
from zlib import crc32

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.httpsession import URLLib3Session

REQUEST_ID = "0A1B2C3D"


@dataclass(frozen=True)
class Answer:
    """What DynamoDB answers; a body that is no mapping is sent as it is."""

    body: Mapping[str, Any] | bytes = field(default_factory=dict)
    status: int = 200
    checksum: str | None = None

    def render(self, url: str) -> AWSResponse:
        """The response, with the right checksum unless another is given."""
        body = self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()
        raw: Any = io.BytesIO(body)
        raw.stream = lambda: iter([body])
        headers: Any = {
            "Content-Type": "application/x-amz-json-1.0",
            "x-amzn-RequestId": REQUEST_ID,
            "x-amz-crc32": self.checksum or str(crc32(body)),
        }
        return AWSResponse(url, self.status, headers, raw)


@dataclass(frozen=True)
class Sent:
    """A request that was sent."""

    url: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def operation(self) -> str:
        """The name of the operation."""
        return self.headers["X-Amz-Target"].rpartition(".")[2]


@dataclass
class StubWire:
    """``outcomes``: answers or errors of the next requests; ``{}`` is answered after them."""

    outcomes: list[Answer | Exception] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)

    def send(self, request: AWSPreparedRequest) -> AWSResponse:
        """Take a request in place of a socket."""
        given: Any = request.headers
        headers = {
            name: value.decode() if isinstance(value, bytes) else value
            for name, value in given.items()
        }
        given_body: Any = request.body
        body = given_body.read() if hasattr(given_body, "read") else given_body
        self.sent.append(Sent(request.url, headers, json.loads(body)))
        outcome = self.outcomes.pop(0) if self.outcomes else Answer()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome.render(request.url)

    def expect(self, *outcomes: Answer | Exception) -> None:
        """Forget what was sent, and answer the next requests with these."""
        self.sent.clear()
        self.outcomes[:] = outcomes


@contextmanager
def stub_wire(outcomes: Sequence[Answer | Exception] = ()) -> Iterator[StubWire]:
    """Replace the sending of all HTTP sessions of botocore, and its pauses."""
    wire = StubWire(list(outcomes))

    def send(_session: URLLib3Session, request: AWSPreparedRequest) -> AWSResponse:
        return wire.send(request)

    with patch.object(URLLib3Session, "send", send), patch("time.sleep"):
        yield wire
