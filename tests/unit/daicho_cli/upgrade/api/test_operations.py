"""Changes planted into an OpenAPI document, each of which must be found and judged."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from daicho_cli.upgrade.api import compare_apis
from daicho_cli.upgrade.change import Area, Change, Severity
from tests.support.sample_project import SAMPLE_ROUTES

Document = dict[str, Any]


def build_document() -> Document:
    """A small API: a list, a read, a write with a body, and a problem."""
    return {
        "openapi": "3.1.0",
        "security": [{"token": []}],
        "paths": {
            "/users": {
                "get": {
                    "operationId": "get_users",
                    "parameters": [
                        {"in": "query", "name": "name", "schema": {"type": "string"}},
                        {
                            "in": "query",
                            "name": "limit",
                            "schema": {"$ref": "#/components/schemas/Limit"},
                        },
                    ],
                    "responses": {"200": {"$ref": "#/components/responses/Users"}},
                }
            },
            "/users/{id}": {
                "parameters": [
                    {"in": "path", "name": "id", "required": True, "schema": {"type": "string"}}
                ],
                "get": {
                    "operationId": "get_user",
                    "responses": {
                        "200": {
                            "headers": {"ETag": {"schema": {"type": "string"}}},
                            "content": {
                                "application/json": {
                                    "schema": {"$ref": "#/components/schemas/User"}
                                }
                            },
                        },
                        "404": {"description": "no such user"},
                    },
                },
                "put": {
                    "operationId": "put_user",
                    "requestBody": {
                        "content": {
                            "application/json": {
                                "schema": {"$ref": "#/components/schemas/UserWrite"}
                            }
                        }
                    },
                    "responses": {"200": {"$ref": "#/components/responses/Users"}},
                },
            },
        },
        "components": {
            "responses": {
                "Users": {
                    "content": {
                        "application/json": {
                            "schema": {
                                "type": "array",
                                "items": {"$ref": "#/components/schemas/User"},
                            }
                        }
                    }
                }
            },
            "schemas": {
                "Limit": {"type": "integer", "maximum": 100, "default": 20},
                "User": {
                    "type": "object",
                    "properties": {"id": {"type": "string"}, "name": {"type": "string"}},
                    "required": ["id"],
                },
                "UserWrite": {
                    "type": "object",
                    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
                    "required": ["name"],
                },
            },
        },
    }


def users(document: Document) -> Document:
    operation: Document = document["paths"]["/users"]["get"]
    return operation


def user(document: Document, method: str = "get") -> Document:
    operation: Document = document["paths"]["/users/{id}"][method]
    return operation


def set_value(target: Document, key: str, value: Any) -> None:
    target[key] = value


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


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_change_is_the_only_one(name: str) -> None:
    severity, rule, sentence, plant = PLANTED[name]
    before, after = build_document(), build_document()
    plant(after)
    (change,) = compare_apis(before, after)
    assert change == Change(Area.API, severity, rule, change.subject, sentence)


def test_no_authorization_is_enough_for_everybody() -> None:
    before, after = build_document(), build_document()
    users(after)["security"] = []
    assert compare_apis(before, after) == []
    (change,) = compare_apis(after, before)
    assert change.sentence == "authorization by no token is not enough any more (GET /users)"


def test_the_name_of_a_path_variable_is_not_sent() -> None:
    before, after = build_document(), build_document()
    item = after["paths"].pop("/users/{id}")
    item["parameters"][0]["name"] = "user"
    after["paths"]["/users/{user}"] = item
    assert compare_apis(before, after) == []


def test_headers_are_named_without_case() -> None:
    before, after = build_document(), build_document()
    for document, name in ((before, "If-Match"), (after, "if-match")):
        users(document)["parameters"].append({"in": "header", "name": name})
    assert compare_apis(before, after) == []


def test_descriptions_examples_and_servers_are_not_compared() -> None:
    before, after = build_document(), build_document()
    after |= {"servers": [{"url": "/v2"}], "info": {"title": "Shop", "version": "2"}}
    users(after)["summary"] = "All users"
    after["components"]["schemas"]["User"] |= {"title": "U", "example": {"id": "1"}}
    assert compare_apis(before, after) == []


def test_a_whole_description_equals_itself() -> None:
    document = SAMPLE_ROUTES.description
    assert len(document["paths"]) > 10
    assert compare_apis(document, copy.deepcopy(document)) == []


def test_every_operation_of_a_whole_description_is_missed() -> None:
    document = SAMPLE_ROUTES.description
    operations = sum(len(set(item) - {"parameters"}) for item in document["paths"].values())
    changes = compare_apis(document, {**document, "paths": {}})
    assert [change.rule for change in changes] == ["removed-operation"] * operations


def test_a_field_is_missed_in_every_component_of_a_whole_description() -> None:
    before = SAMPLE_ROUTES.description
    after = copy.deepcopy(before)
    removed = set()
    for name, schema in after["components"]["schemas"].items():
        fields = schema.get("properties", {})
        # Not one that refers to another component, which may be in no other place.
        if plain := [field for field in fields if "$ref" not in json.dumps(fields[field])]:
            del fields[plain[0]]
            removed.add(f"{name}.{plain[0]}")
    found = {
        change.subject for change in compare_apis(before, after) if change.rule == "removed-field"
    }
    assert len(removed) > 50
    assert removed - found == set()
