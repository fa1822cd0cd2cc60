"""The description: complete, unique, and what is served."""

from __future__ import annotations

import json
from typing import Any

import pytest

import domains
from daicho.domain import Daicho
from daicho.plan import Ledger
from daicho.web.mounting import operations
from daicho.web.openapi import described, openapi
from daicho.web.tenancy import administration
from tests.unit.web.toys import TOYS

DAICHO = Daicho.discover(domains)
SPEC = openapi(DAICHO, Ledger.load())
OPERATIONS = [
    (path, method, operation)
    for path, item in SPEC["paths"].items()
    for method, operation in item.items()
]


def references(value: Any) -> set[str]:
    match value:
        case {"$ref": str(reference)}:
            return {reference}
        case dict():
            return set().union(*map(references, value.values()))
        case list():
            return set().union(*map(references, value))
    return set()


def test_it_has_every_operation_once() -> None:
    ids = [operation["operationId"] for _, _, operation in OPERATIONS]
    assert len(ids) == len(set(ids)) == len(operations(DAICHO)) + len(administration())


@pytest.mark.parametrize(
    ("path", "method", "operation"), OPERATIONS, ids=lambda v: v if isinstance(v, str) else ""
)
def test_each_operation_is_described(path: str, method: str, operation: Any) -> None:
    assert operation["tags"][0] in {"tenant", *(domain.name for domain in DAICHO.domains)}
    assert operation["summary"]
    for status in ("400", "403", "404", "422", "429"):
        assert operation["responses"][status] == {"$ref": f"#/components/responses/{status}"}
    good = [status for status in operation["responses"] if int(status) < 400]
    assert good
    named = {each["name"] for each in operation.get("parameters", ()) if each["in"] == "path"}
    assert all(f"{{{name}}}" in path for name in named)
    assert path.count("{") == len(named)


def test_every_reference_leads_somewhere() -> None:
    for reference in references(SPEC):
        found: Any = SPEC
        for word in reference.removeprefix("#/").split("/"):
            found = found[word]
        assert found


def test_every_schema_has_an_example_and_bodies_are_closed() -> None:
    for name, schema in SPEC["components"]["schemas"].items():
        assert schema["examples"], name
    assert SPEC["components"]["schemas"]["Vote"]["additionalProperties"] is False
    assert SPEC["components"]["schemas"]["NewSong"]["additionalProperties"] is False


def test_what_is_hidden_is_not_described() -> None:
    assert "salt" not in json.dumps(SPEC)
    text = json.dumps(described(operations(Daicho(*TOYS)))["components"]["schemas"]["Contact"])
    assert "secret" not in text


def test_parameters_say_what_must_be_given() -> None:
    songs = {p["name"]: p for p in SPEC["paths"]["/songs"]["get"]["parameters"]}
    assert not any(parameter["required"] for parameter in songs.values())
    assert songs["limit"]["schema"] == {
        "type": "integer", "minimum": 1, "maximum": 100, "default": 100,
    }  # fmt: skip
    artists = {p["name"]: p["required"] for p in SPEC["paths"]["/artists"]["get"]["parameters"]}
    assert artists == {"name": True, "limit": False, "cursor": False}
    votes = SPEC["paths"]["/polls/{poll}/votes"]["post"]["parameters"]
    assert {p["name"]: p["required"] for p in votes} == {"poll": True, "Idempotency-Key": False}


def test_it_says_where_it_is_served() -> None:
    assert SPEC["servers"] == [{"url": "/"}]
    there = openapi(DAICHO, Ledger.load(), server="https://api.example.com")
    assert there["servers"] == [{"url": "https://api.example.com"}]
