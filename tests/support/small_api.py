"""A small OpenAPI document, into which tests plant changes."""

from __future__ import annotations

from typing import Any

Document = dict[str, Any]
TEXT = {"type": "string"}


def build_document() -> Document:
    """A small API: a list, a read, a write with a body, and a problem."""
    name = {"in": "query", "name": "name", "schema": dict(TEXT)}
    limit = {"in": "query", "name": "limit", "schema": _refer("schemas/Limit")}
    id = {"in": "path", "name": "id", "required": True, "schema": dict(TEXT)}
    read = {"headers": {"ETag": {"schema": dict(TEXT)}}, **_contain(_refer("schemas/User"))}
    get_users = {
        "operationId": "get_users",
        "parameters": [name, limit],
        "responses": {"200": _refer("responses/Users")},
    }
    get_user = {
        "operationId": "get_user",
        "responses": {"200": read, "404": {"description": "no such user"}},
    }
    put_user = {
        "operationId": "put_user",
        "requestBody": _contain(_refer("schemas/UserWrite")),
        "responses": {"200": _refer("responses/Users")},
    }
    schemas = {
        "Limit": {"type": "integer", "maximum": 100, "default": 20},
        "User": _describe_object("id", id=dict(TEXT), name=dict(TEXT)),
        "UserWrite": _describe_object("name", name=dict(TEXT), age={"type": "integer"}),
    }
    list_of_users = {"type": "array", "items": _refer("schemas/User")}
    return {
        "openapi": "3.1.0",
        "security": [{"token": []}],
        "paths": {
            "/users": {"get": get_users},
            "/users/{id}": {"parameters": [id], "get": get_user, "put": put_user},
        },
        "components": {"responses": {"Users": _contain(list_of_users)}, "schemas": schemas},
    }


def _refer(name: str) -> Document:
    return {"$ref": f"#/components/{name}"}


def _contain(schema: Document) -> Document:
    return {"content": {"application/json": {"schema": schema}}}


def _describe_object(required: str, **fields: Document) -> Document:
    return {"type": "object", "properties": fields, "required": [required]}


def users(document: Document) -> Document:
    operation: Document = document["paths"]["/users"]["get"]
    return operation


def user(document: Document, method: str = "get") -> Document:
    operation: Document = document["paths"]["/users/{id}"][method]
    return operation


def set_value(target: Document, key: str, value: Any) -> None:
    target[key] = value
