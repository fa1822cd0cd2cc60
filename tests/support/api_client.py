"""A client of the API handler that plays the gateway to the letter (HTTP API, payload format 2.0).

Requests that no friendly client sends are possible too: raw bodies, raw queries, other claims.
"""

from __future__ import annotations

import base64
import itertools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote_to_bytes, urlencode

from daicho.handlers.wiring.invocation import Handler
from tests.support.stream_pump import Context

STAFF = {"sub": "somebody", "cognito:groups": "[staff]"}
"""The claims of somebody who may write for others."""
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Answer:
    """What came back; ``json`` is the body as JSON."""

    status: int
    headers: Mapping[str, str]
    text: str
    request: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def fields(self) -> set[str]:
        """The fields that a problem names."""
        return {each["field"] for each in self.json.get("errors", ())}


@dataclass(frozen=True)
class Client:
    """Sends requests in the name of a tenant. Paths and queries are as they stand in a URL."""

    handler: Handler
    tenant: str | None = "acme"
    claims: Mapping[str, str] = field(default_factory=lambda: dict(STAFF))

    def __call__(
        self,
        method: str,
        url: str,
        body: Any = None,
        *,
        raw: str | bytes | None = None,
        content_type: str | None = "application/json",
        **headers: str,
    ) -> Answer:
        path, _, query = url.partition("?")
        decoded = as_the_gateway_decodes(path)
        if decoded is None:
            return Answer(400, {}, '{"message":"Bad Request"}', f"{method} {url[:200]}")
        text = raw if body is None else json.dumps(body, ensure_ascii=False)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if text is not None and content_type is not None:
            sent["content-type"] = content_type
        claimed = {**({"custom:tenant": self.tenant} if self.tenant else {}), **self.claims}
        event: dict[str, Any] = {
            "version": "2.0",
            "routeKey": "ANY /{proxy+}",
            "rawPath": decoded,
            "rawQueryString": query,
            "headers": sent,
            "requestContext": {
                "accountId": "000000000000",
                "apiId": "api",
                "authorizer": {"jwt": {"claims": claimed, "scopes": None}},
                "http": {
                    "method": method,
                    "path": decoded,
                    "protocol": "HTTP/1.1",
                    "sourceIp": "127.0.0.1",
                    "userAgent": "tests",
                },
                "requestId": f"request-{next(_numbers)}",
                "routeKey": "ANY /{proxy+}",
                "stage": "$default",
            },
            "isBase64Encoded": isinstance(text, bytes),
        }
        if text is not None:
            event["body"] = base64.b64encode(text).decode() if isinstance(text, bytes) else text
        # Lambda hands JSON over: nothing may be shared, nothing may be unwritable.
        answer = json.loads(json.dumps(self.handler(json.loads(json.dumps(event)), Context())))
        given = answer.get("body") or ""
        if answer.get("isBase64Encoded"):
            given = base64.b64decode(given).decode("latin-1")
        return Answer(answer["statusCode"], answer["headers"], given, f"{method} {url[:200]}")

    def good(self, method: str, url: str, body: Any = None, **headers: str) -> Any:
        """The body of an answer that is no error."""
        answer = self(method, url, body, **headers)
        assert answer.status < 300, (answer.request, answer.text)
        return answer.json if answer.text else None

    def figure(self, url: str) -> Any:
        """A figure, without what it states about its time."""
        answer = self.good("GET", url)
        assert isinstance(answer.pop("rolled_up"), bool)
        del answer["as_of"]
        return answer

    def everything(self, url: str, limit: int = 100) -> list[Any]:
        """All pages of a list."""
        items: list[Any] = []
        sign = "&" if "?" in url else "?"
        cursor: str | None = ""
        while cursor is not None:
            at = f"&cursor={cursor}" if cursor else ""
            page = self.good("GET", f"{url}{sign}limit={limit}{at}")
            items += page["items"]
            cursor = page["cursor"]
        return items


def as_the_gateway_decodes(path: str) -> str | None:
    """The path of an event; None if the gateway refuses the request.

    An HTTP API decodes a path twice. In between it ends the path at a question mark, and refuses a
    percent sign that begins no escape. Live captures: hotsock/voker, `ingress-paths.json`.
    """
    once = unquote_to_bytes(path).partition(b"?")[0]
    if re.search(rb"%(?![0-9A-Fa-f]{2})", once):
        return None
    return unquote_to_bytes(once).decode("utf-8", "replace")


def segment(text: str) -> str:
    """Text as one component of a URL's path or query."""
    return quote(text, safe="")


def at(path: str, **query: object) -> str:
    """The URL of a path and of query parameters that are not escaped yet."""
    parameters = urlencode(query, quote_via=quote)
    return quote(path, safe="/%") + (f"?{parameters}" if parameters else "")
