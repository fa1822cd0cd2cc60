"""Every route of the demonstration, and a request for it made from its description."""

from __future__ import annotations

from typing import Any

import domains
from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho.web.http.operation import VARIABLE, Operation
from daicho.web.openapi.document import describe_api
from daicho.web.routes.builder import build_operations
from tests.support.api_client import segment
from tests.support.deployment import Served

DAICHO = Daicho.discover(domains)
ALL = build_operations(DAICHO)
DESCRIBED = describe_api(DAICHO, Ledger.load())
IDS = {"month": "2026-11", "version": "1"}
VALUES = {
    "date": "2026-11-20",
    "at": "2026-11-20T01:02:03Z",
    "released": "1977",
    "live": "true",
    "limit": "5",
    "anonymous": "false",
}


def named(operation: Operation) -> str:
    return operation.id


def url_of(operation: Operation, id: str = "x", **query: str) -> str:
    """A good URL of an operation: its first query that takes ``query``, with good values."""
    path = VARIABLE.sub(lambda found: segment(IDS.get(found[1], id)), operation.path)
    fitting = (each for each in operation.variants if set(query) <= each.allowed)
    variant = next(fitting, operation.variants[0])
    asked = {name: VALUES.get(name, "x") for name in sorted(variant.needed)} | query
    pairs = "&".join(f"{name}={segment(value)}" for name, value in asked.items())
    return f"{path}?{pairs}" if pairs else path


def body_of(operation: Operation) -> Any:
    """The example that the description gives of an operation's body."""
    if operation.body is None:
        return None
    (example,) = DESCRIBED["components"]["schemas"][operation.body.__name__]["examples"]
    if not isinstance(example, dict):
        return example
    return example | ({"candidates": ["a", "b"]} if "candidates" in example else {})


def headers_of(operation: Operation) -> dict[str, str]:
    must = [each.name for each in operation.headers if each.name == "Idempotency-Key"]
    return {name.replace("-", "_"): "x" for name in must}


CHANGING = [each for each in ALL if each.method != "GET"]
KEYED = [each for each in CHANGING if each.accepts_idempotency_key]
MAKING = [each for each in CHANGING if each.method == "PUT"]
NEEDING = {
    "checkout_cart",
    "create_contact_call",
    "create_sale",
    "add_contact_category",
    "put_poll_vote",
}
"""Routes that are refused here, besides those that change what a POST has made."""


def items_of(served: Served, tenant: str) -> list[dict[str, Any]]:
    pages = served.dynamodb.get_paginator("scan").paginate(TableName=served.table.name)
    found = (item for page in pages for item in page["Items"])
    return [item for item in found if item["PK"]["S"].startswith(f"{tenant}#")]
