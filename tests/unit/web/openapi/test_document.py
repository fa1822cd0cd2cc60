"""The description: complete, unique, and what is served."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter

import domains
from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho.web.http.operation import Operation, QueryVariant, Reply
from daicho.web.http.problem_types import find_type
from daicho.web.openapi.document import describe_api, describe_operations, render_page
from daicho.web.openapi.examples import UNKNOWN
from daicho.web.routes.builder import build_operations
from daicho.web.routes.tenant_admin import build_admin_operations
from tests.support.sample_domain import TOYS

DAICHO = Daicho.discover(domains)
SPEC = describe_api(DAICHO, Ledger.load())
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
    assert (
        len(ids) == len(set(ids)) == len(build_operations(DAICHO)) + len(build_admin_operations())
    )


@pytest.mark.parametrize(
    ("path", "method", "operation"), OPERATIONS, ids=lambda v: v if isinstance(v, str) else ""
)
def test_each_operation_is_described(path: str, method: str, operation: Any) -> None:
    assert operation["tags"][0] in {"tenant", *(domain.name for domain in DAICHO.domains)}
    assert operation["summary"]
    for status in ("400", "403", "404", "410", "422", "429"):
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
    text = json.dumps(
        describe_operations(build_operations(Daicho(*TOYS)))["components"]["schemas"]["Contact"]
    )
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
    there = describe_api(DAICHO, Ledger.load(), server="https://api.example.com")
    assert there["servers"] == [{"url": "https://api.example.com"}]


SERVED = [*build_operations(DAICHO), *build_admin_operations()]
BODIES = [each for each in SERVED if each.body is not None]


def shown(operation: Operation) -> dict[str, Any]:
    found: dict[str, Any] = SPEC["paths"][operation.path][operation.method.lower()]
    return found


@pytest.mark.parametrize("operation", BODIES, ids=lambda each: str(each.id))
def test_the_example_of_a_body_can_be_sent(operation: Operation) -> None:
    example = shown(operation)["requestBody"]["content"]["application/json"]["example"]
    text = json.dumps(example)
    assert operation.body is not None
    operation.body.model_validate_json(text, strict=True, extra="forbid")
    assert UNKNOWN not in json.dumps(example, ensure_ascii=False), (
        f"{operation.tag}: {example}: give a value in Domain(examples=...) or field(examples=[...])"
    )


@pytest.mark.parametrize("operation", SERVED, ids=lambda each: str(each.id))
def test_the_examples_of_parameters_can_be_sent_and_answers_have_some(
    operation: Operation,
) -> None:
    given = {(each["name"], each["in"]): each for each in shown(operation).get("parameters", ())}
    for each in (*operation.variables, *operation.parameters.values(), *operation.headers):
        parameter = given[each.name, each.place]
        if each.name == "cursor":
            continue
        assert "example" in parameter, f"{operation.tag}: {each.name}"
        sent = parameter["example"]
        text = str(sent).lower() if isinstance(sent, bool) else str(sent)
        TypeAdapter(each.annotation).validate_python(text)
    for status, answer in shown(operation)["responses"].items():
        content = answer.get("content", {}).get("application/json")
        if content and int(status) < 300:
            assert content["example"]


def test_what_a_domain_says_nothing_of_is_made_of_its_types() -> None:
    operations = build_operations(Daicho(*TOYS))
    spec = describe_operations(operations, examples={"toys": {"name": 7}})
    for operation in operations:
        described = spec["paths"][operation.path][operation.method.lower()]
        if operation.body is not None:
            example = described["requestBody"]["content"]["application/json"]["example"]
            operation.body.model_validate_json(json.dumps(example), strict=True, extra="forbid")
    assert spec["components"]["schemas"]["Contact"]["examples"][0]["name"] == "Name"


def test_the_page_brings_all_that_it_needs_and_takes_a_token() -> None:
    shown_page = render_page(json.dumps(SPEC))
    loaded = re.findall(r"<(?:script|link|img)[^>]*?(?:src|href)=[\"']?([^\"'> ]+)", shown_page)
    assert [each for each in loaded if each.startswith(("http", "//"))] == []
    assert SPEC["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    assert SPEC["security"] == [{"token": []}]
    assert "persistAuthorization" in shown_page
    assert "/problems" in SPEC["info"]["description"]


def test_each_problem_that_is_described_has_its_type() -> None:
    for status, described_as in SPEC["components"]["responses"].items():
        (content,) = described_as["content"].values()
        example = content["example"]
        assert str(example["status"]) == status
        assert example["type"] == f"/problems/{find_type(int(status)).name}"


def test_a_model_that_is_written_in_another_way_has_two_names() -> None:
    schemas = SPEC["components"]["schemas"]
    assert {name for name in schemas if "Line" in name} == {"Line", "LineInput"}
    assert all(schema["title"] == name for name, schema in schemas.items() if "title" in schema)
    assert schemas["NewOrder"]["properties"]["lines"]["items"]["$ref"].endswith("/LineInput")
    assert schemas["Order"]["properties"]["lines"]["items"]["$ref"].endswith("/Line")


class Note(BaseModel):
    """A model that is a body and an answer, with a field that is written in more ways."""

    amount: Decimal


def test_a_body_that_is_an_answer_too_is_closed_only_as_a_body() -> None:
    variant = QueryVariant("note", "Note", lambda _: Reply(200), returns=Note)
    operation = Operation("POST", "/notes", "notes", [variant], body=Note)
    schemas = describe_operations([operation])["components"]["schemas"]
    assert schemas["NoteInput"]["additionalProperties"] is False
    assert "additionalProperties" not in schemas["Note"]


def test_a_parameter_is_given_or_omitted_and_never_null() -> None:
    for path, method, operation in OPERATIONS:
        for parameter in operation.get("parameters", ()):
            assert "null" not in json.dumps(parameter["schema"]), (path, method, parameter["name"])


def test_an_answer_without_a_body_has_no_content() -> None:
    contact = SPEC["paths"]["/contacts/{id}"]
    assert "content" not in contact["delete"]["responses"]["204"]
    assert "content" not in contact["get"]["responses"]["304"]
    assert "content" in contact["get"]["responses"]["200"]


def test_a_decimal_in_an_answer_is_text() -> None:
    schemas = SPEC["components"]["schemas"]
    decimal = {"type": "string", "format": "decimal"}
    assert schemas["Product"]["properties"]["price"] == {**decimal, "title": "Price"}
    assert schemas["Sale"]["properties"]["price"]["anyOf"] == [decimal, {"type": "null"}]
    assert schemas["SaleRevenue"]["properties"]["total"] == {**decimal, "title": "Total"}
