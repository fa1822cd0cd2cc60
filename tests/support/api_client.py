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

STAFF: Mapping[str, Any] = {"sub": "somebody", "cognito:groups": ["staff"]}
"""The claims of the token of somebody who may write for others."""
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
    """Sends requests in the name of a tenant. Paths and queries are as they stand in a URL.

    ``claims``: of the token, besides the tenant's. The gateway passes them on as text.
    ``is_anonymous``: the gateway passes on no token.
    """

    handler: Handler
    tenant: str | None = "acme"
    claims: Mapping[str, Any] = field(default_factory=lambda: STAFF)
    is_anonymous: bool = False

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
        return self.send(method, decoded, query, text, sent)

    def send(
        self,
        method: str,
        raw_path: str,
        query: str = "",
        body: str | bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send the event of a request; ``raw_path`` is what a gateway has made of its path."""
        claims = {**({"custom:tenant": self.tenant} if self.tenant else {}), **self.claims}
        sent = {"authorization": f"Bearer {write_token(claims)}", **(headers or {})}
        event = build_gateway_event(
            method, raw_path, query, sent, None if self.is_anonymous else claims
        )
        if body is not None:
            event["isBase64Encoded"] = isinstance(body, bytes)
            event["body"] = base64.b64encode(body).decode() if isinstance(body, bytes) else body
        # Lambda hands JSON over: nothing may be shared, nothing may be unwritable.
        answer = json.loads(json.dumps(self.handler(json.loads(json.dumps(event)), Context())))
        given = answer.get("body") or ""
        if answer.get("isBase64Encoded"):
            given = base64.b64decode(given).decode("latin-1")
        return Answer(
            answer["statusCode"],
            answer["headers"],
            given,
            f"{method} {raw_path[:200]} {query[:200]}",
        )

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


def build_gateway_event(
    method: str,
    path: str | None,
    query: str,
    headers: Mapping[str, str],
    claims: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """The event of a request without a body; ``claims``: of its token, None without one."""
    flat = {"jwt": {"claims": flatten_claims(claims or {}), "scopes": None}}
    return {
        "version": "2.0",
        "routeKey": "ANY /{proxy+}",
        "rawPath": path,
        "rawQueryString": query,
        "headers": dict(headers),
        "requestContext": {
            "accountId": "000000000000",
            "apiId": "api",
            **({"authorizer": flat} if claims is not None else {}),
            "http": {
                "method": method,
                "path": path,
                "protocol": "HTTP/1.1",
                "sourceIp": "127.0.0.1",
                "userAgent": headers.get("user-agent", "tests"),
            },
            "requestId": f"request-{next(_numbers)}",
            "routeKey": "ANY /{proxy+}",
            "stage": "$default",
        },
        "isBase64Encoded": False,
    }


def write_token(claims: object) -> str:
    """A token as an issuer signs it. Its signature is checked by the gateway alone."""
    parts = [json.dumps({"alg": "RS256"}), json.dumps(claims), "signature"]
    return ".".join(base64.urlsafe_b64encode(p.encode()).decode().rstrip("=") for p in parts)


def flatten_claims(claims: Mapping[str, Any]) -> dict[str, str]:
    """The claims of a token as an HTTP API passes them on."""
    return {name: flatten_claim(value) for name, value in claims.items()}


def flatten_claim(value: Any) -> str:
    """A claim as an HTTP API passes it on: a list of two texts as ``[a b]``."""
    if isinstance(value, list):
        return f"[{' '.join(map(flatten_claim, value))}]"
    return value if isinstance(value, str) else json.dumps(value)


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
