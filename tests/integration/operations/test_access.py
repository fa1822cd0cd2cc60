"""Who may call the routes of operators: members of the group alone, of whatever tenant."""

from __future__ import annotations

import itertools
import re
from typing import Any

from daicho.local.poison_routes import build_poison_routes
from daicho.operations.routes import build_operations
from tests.support.api_client import Client
from tests.support.deployment import Served
from tests.support.operator_stack import OperatorStack
from tests.support.stream_pump import Context

ROUTES = [
    (each.method, re.sub(r"{\w+}", "x", each.path))
    for each in [*build_operations(), *build_poison_routes()]
]
OTHERS: dict[str, dict[str, Any]] = {
    "no group": {"sub": "ada"},
    "administrator": {"sub": "ada", "cognito:groups": ["admin"]},
    "staff of several groups": {"sub": "ada", "cognito:groups": ["staff", "admin", "operators"]},
    "similar group": {"sub": "ada", "cognito:groups": ["Operator"]},
    "group with a space": {"sub": "ada", "cognito:groups": ["not operator"]},
    "no claims": {},
    "no text": {"cognito:groups": 7},
    "group in another claim": {"groups": ["operator"], "scope": "operator"},
}


def test_each_route_refuses_everybody_else(stack: OperatorStack) -> None:
    handler, before = stack.build(), stack.items()
    for method, url in ROUTES:
        for tenant, claims in itertools.product(("acme", "globex", None), OTHERS.values()):
            answer = Client(handler, tenant, claims)(method, url, {})
            assert answer.status == 403, (method, url, claims, answer.text)
            assert answer.headers["Content-Type"] == "application/problem+json"
            assert answer.json["title"] == "Forbidden"
            assert "operator" in answer.json["detail"]
    assert stack.items() == before


def test_a_path_without_a_route_is_refused_as_well(stack: OperatorStack) -> None:
    handler = stack.build()
    for url in ("/ops", "/ops/nothing", "/contacts", "/ops/health/x"):
        assert Client(handler, "acme", {})("GET", url).status == 403
        assert stack.client()("GET", url).status == 404


def test_an_event_without_claims_is_refused(stack: OperatorStack) -> None:
    handler, http = stack.build(), {"method": "GET", "path": "/ops/health"}
    authorizers: list[dict[str, Any]] = [
        {},
        {"authorizer": None},
        {"authorizer": {}},
        {"authorizer": {"jwt": {"claims": None}}},
    ]
    for more in authorizers:
        context = {"http": http, "requestId": "r", **more}
        event = {"rawPath": "/ops/health", "rawQueryString": "", "requestContext": context}
        assert handler(event, Context())["statusCode"] == 403


def test_an_operator_needs_no_tenant_and_sees_the_same_with_any(stack: OperatorStack) -> None:
    for tenant in ("acme", "globex", None, "not a tenant"):
        assert stack.client(tenant).good("GET", "/ops/log") == {"items": [], "cursor": None}


def test_the_api_of_tenants_has_no_route_of_operators(acme: Client) -> None:
    operator = Client(acme.handler, "acme", {"sub": "olga", "cognito:groups": ["operator"]})
    for method, url in ROUTES:
        assert operator(method, url, {}).status in (404, 405), url


def test_an_operator_gains_nothing_in_the_api_of_tenants(served: Served) -> None:
    """Without a tenant the API refuses; with one it serves that tenant alone."""
    operator = Client(served.handler, None, {"sub": "olga", "cognito:groups": ["operator"]})
    for method, url in (("GET", "/jobs/x"), ("DELETE", "/tenant")):
        assert operator(method, url).status == 403
    acme = Client(served.handler, "acme", {"sub": "olga", "cognito:groups": ["operator"]})
    assert acme("DELETE", "/tenant").status == 403
