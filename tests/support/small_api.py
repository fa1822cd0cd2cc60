"""A small OpenAPI document, into which tests plant changes."""

from __future__ import annotations

from typing import Any

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
