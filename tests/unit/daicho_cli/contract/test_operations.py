"""Changes planted into an OpenAPI document, each of which must be found and judged."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from daicho_cli.contract.changes import ContractChange, Severity
from daicho_cli.contract.operations import compare_descriptions
from tests.support.small_api import Document, build_document, set_value, user, users

Plant = Callable[[Document], object]
PLANTED: dict[str, tuple[Severity, str, str, Plant]] = {
    "path": (
        Severity.BREAKING,
        "removed-operation",
        "GET /users is removed",
        lambda d: d["paths"].pop("/users"),
    ),
    "operation": (
        Severity.BREAKING,
        "removed-operation",
        "PUT /users/{id} is removed",
        lambda d: d["paths"]["/users/{id}"].pop("put"),
    ),
    "new operation": (
        Severity.COMPATIBLE,
        "added-operation",
        "DELETE /users/{id} is added",
        lambda d: set_value(d["paths"]["/users/{id}"], "delete", {"responses": {}}),
    ),
    "query parameter": (
        Severity.BREAKING,
        "removed-parameter",
        "query parameter name is removed (GET /users)",
        lambda d: users(d)["parameters"].pop(0),
    ),
    "required parameter": (
        Severity.BREAKING,
        "newly-required-parameter",
        "query parameter name is required (GET /users)",
        lambda d: set_value(users(d)["parameters"][0], "required", True),
    ),
    "new required parameter": (
        Severity.BREAKING,
        "added-required-parameter",
        "query parameter of is new and required (GET /users)",
        lambda d: users(d)["parameters"].append({"in": "query", "name": "of", "required": True}),
    ),
    "new parameter": (
        Severity.COMPATIBLE,
        "added-parameter",
        "query parameter of is added (GET /users)",
        lambda d: users(d)["parameters"].append({"in": "query", "name": "of"}),
    ),
    "limit of a parameter": (
        Severity.BREAKING,
        "narrowed-bound",
        "Limit: maximum 100 → 50 in requests (GET /users)",
        lambda d: set_value(d["components"]["schemas"]["Limit"], "maximum", 50),
    ),
    "default of a parameter": (
        Severity.NOTICE,
        "changed-default",
        "query parameter limit: default 20 → 10 (GET /users)",
        lambda d: set_value(d["components"]["schemas"]["Limit"], "default", 10),
    ),
    "encoding of a parameter": (
        Severity.BREAKING,
        "changed-encoding",
        "query parameter name: explode None → False (GET /users)",
        lambda d: set_value(users(d)["parameters"][0], "explode", False),
    ),
    "required body": (
        Severity.BREAKING,
        "newly-required-body",
        "request body is required (PUT /users/{id})",
        lambda d: set_value(user(d, "put")["requestBody"], "required", True),
    ),
    "body": (
        Severity.BREAKING,
        "removed-body",
        "request body is not accepted any more (PUT /users/{id})",
        lambda d: user(d, "put").pop("requestBody"),
    ),
    "media type": (
        Severity.BREAKING,
        "removed-media-type",
        "request body: application/json is removed (PUT /users/{id})",
        lambda d: user(d, "put")["requestBody"]["content"].clear(),
    ),
    "answer": (
        Severity.BREAKING,
        "removed-answer",
        "answer 200 is removed (GET /users)",
        lambda d: users(d)["responses"].pop("200"),
    ),
    "new answer": (
        Severity.NOTICE,
        "added-answer",
        "answer 202 is added (GET /users)",
        lambda d: set_value(users(d)["responses"], "202", {}),
    ),
    "problem": (
        Severity.COMPATIBLE,
        "removed-problem",
        "answer 404 does not occur (GET /users/{id})",
        lambda d: user(d)["responses"].pop("404"),
    ),
    "header": (
        Severity.BREAKING,
        "removed-header",
        "header ETag of answer 200 is removed (GET /users/{id})",
        lambda d: user(d)["responses"]["200"]["headers"].clear(),
    ),
    "field of answers": (
        Severity.BREAKING,
        "removed-field",
        "User.name is removed from answers (GET /users, GET /users/{id}, PUT /users/{id})",
        lambda d: d["components"]["schemas"]["User"]["properties"].pop("name"),
    ),
    "required field of requests": (
        Severity.BREAKING,
        "newly-required-field",
        "UserWrite.age is required in requests (PUT /users/{id})",
        lambda d: d["components"]["schemas"]["UserWrite"]["required"].append("age"),
    ),
    "operation id": (
        Severity.NOTICE,
        "changed-operation-id",
        "GET /users: operationId get_users → list_users, so generated clients have another "
        "function",
        lambda d: set_value(users(d), "operationId", "list_users"),
    ),
    "deprecation": (
        Severity.NOTICE,
        "deprecated",
        "GET /users is deprecated",
        lambda d: set_value(users(d), "deprecated", True),
    ),
    "authorization": (
        Severity.BREAKING,
        "changed-security",
        "authorization by token is not enough any more (GET /users)",
        lambda d: set_value(users(d), "security", [{"token": [], "signature": []}]),
    ),
}


def compare_planted(plant: Plant) -> list[ContractChange]:
    before, after = build_document(), build_document()
    plant(after)
    return compare_descriptions(before, after)


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_change_is_the_only_one(name: str) -> None:
    severity, rule, sentence, plant = PLANTED[name]
    (change,) = compare_planted(plant)
    assert (change.severity, change.rule, change.sentence) == (severity, rule, sentence)
    assert bool(change.way) == change.is_breaking


WAYS: dict[str, str] = {
    "path": 'domain.mount("/users", ...), or domain.route("GET", "/users")',
    "operation": 'domain.resource(...) with PUT, or domain.route("PUT", "/users/{id}")',
    "query parameter": "leave the declaration, or the function's argument, that takes it",
    "limit of a parameter": "declare maximum 100",
    "encoding of a parameter": "leave explode None",
    "required field of requests": "give the field a default: field(default=...)",
    "field of answers": "leave the field in place; a migration may fill it from its successor",
    "media type": "leave application/json",
    "answer": "answer 200 still",
    "authorization": "accept authorization by token",
}


@pytest.mark.parametrize("name", WAYS)
def test_the_way_to_keep_the_contract_names_what_to_keep(name: str) -> None:
    (change,) = compare_planted(PLANTED[name][3])
    assert change.way == WAYS[name]


def test_a_role_is_breaking_only_for_those_without_it() -> None:
    plain, admin = build_document(), build_document()
    users(admin)["security"] = [{"token": ["admin"]}]
    (change,) = compare_descriptions(plain, admin)
    assert (change.rule, change.sentence) == (
        "changed-role",
        "the role admin is required (GET /users)",
    )
    assert change.way == "declare the route without role=admin"
    (change,) = compare_descriptions(admin, plain)
    assert (change.severity, change.rule) == (Severity.COMPATIBLE, "relaxed-security")
    either = build_document()
    users(either)["security"] = [{"token": ["admin"]}, {"token": ["owner"]}]
    (change,) = compare_descriptions(admin, either)
    assert change.rule == "relaxed-security"
    (change,) = compare_descriptions(either, admin)
    assert (change.rule, change.is_breaking) == ("changed-role", True)
