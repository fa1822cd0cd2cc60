"""Requests to the API handler, as API Gateway hands them on (HTTP API, payload format 2.0)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from handlers.wiring.stream_consumer import Handler
from tests.support.stream_pump import Context


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: Any


@dataclass
class Gateway:
    """Calls the handler in a tenant's name."""

    handler: Handler
    tenant: str

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        **query: Any,
    ) -> Answer:
        text = None if body is None else json.dumps(body)
        raw_path = quote(path, safe="/%")
        event = {
            "version": "2.0",
            "routeKey": "$default",
            "rawPath": raw_path,
            "rawQueryString": urlencode(query, quote_via=quote),
            "queryStringParameters": {name: str(value) for name, value in query.items()},
            "headers": {"content-type": "application/json", **(headers or {})},
            "requestContext": {
                "accountId": "000000000000",
                "apiId": "api",
                "http": {"method": method, "path": raw_path, "sourceIp": "127.0.0.1"},
                "requestId": "request",
                "stage": "$default",
                "authorizer": {"jwt": {"claims": {"custom:tenant": self.tenant}, "scopes": None}},
            },
            "body": text,
            "isBase64Encoded": False,
        }
        found = self.handler(event, Context())
        content = found.get("body")
        return Answer(
            found["statusCode"],
            found.get("headers") or {},
            json.loads(content) if content else None,
        )

    def get(self, path: str, **query: Any) -> Any:
        """The body of a good answer."""
        answer = self.call("GET", path, **query)
        assert answer.status == 200, answer.body
        return answer.body

    def everything(self, path: str, **query: Any) -> list[Any]:
        """All pages of a list."""
        page = self.get(path, **query)
        items: list[Any] = page["items"]
        while page["cursor"] is not None:
            page = self.get(path, **query, cursor=page["cursor"])
            items += page["items"]
        return items
