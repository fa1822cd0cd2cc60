"""The description: what it hides, where it is served, its page and its problems."""

from __future__ import annotations

import json

from daicho.declare.registry import Daicho
from daicho.web.openapi.document import describe_api, describe_operations
from daicho.web.routes.builder import build_operations
from tests.support.sample_domain import TOYS
from tests.support.sample_project import DAICHO, LEDGER

SPEC = describe_api(DAICHO, LEDGER)


def test_what_is_hidden_is_not_described() -> None:
    assert "salt" not in json.dumps(SPEC)
    text = json.dumps(
        describe_operations(build_operations(Daicho(*TOYS)))["components"]["schemas"]["Contact"]
    )
    assert "secret" not in text


def test_it_says_where_it_is_served() -> None:
    assert SPEC["servers"] == [{"url": "/"}]
    there = describe_api(DAICHO, LEDGER, server="https://api.example.com")
    assert there["servers"] == [{"url": "https://api.example.com"}]


def test_what_a_domain_says_nothing_of_is_made_of_its_types() -> None:
    operations = build_operations(Daicho(*TOYS))
    spec = describe_operations(operations, examples={"toys": {"name": 7}})
    for operation in operations:
        described = spec["paths"][operation.path][operation.method.lower()]
        if operation.body is not None:
            example = described["requestBody"]["content"]["application/json"]["example"]
            operation.body.model_validate_json(json.dumps(example), strict=True, extra="forbid")
    assert spec["components"]["schemas"]["Contact"]["examples"][0]["name"] == "Name"
