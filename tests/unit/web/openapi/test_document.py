"""The description: what it hides, where it is served, its page and its problems."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from decimal import Decimal

from pydantic import BaseModel

from daicho.declare.registry import Daicho
from daicho.web.http.operation import Operation, QueryVariant, Reply
from daicho.web.http.problem_types import find_type
from daicho.web.openapi.document import describe_api, describe_operations
from daicho.web.routes.builder import build_operations
from tests.support.sample_domain import TOYS
from tests.support.sample_project import DAICHO, LEDGER

SPEC = describe_api(DAICHO, LEDGER)


def test_bodies_are_closed() -> None:
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


def test_it_takes_a_token_and_names_the_problems() -> None:
    assert SPEC["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    assert SPEC["security"] == [{"token": []}]
    assert "/problems" in SPEC["info"]["description"]


def test_each_problem_that_is_described_has_its_type() -> None:
    for status, described_as in SPEC["components"]["responses"].items():
        if status == "401":
            continue
        example = described_as["content"]["application/problem+json"]["example"]
        assert str(example["status"]) == status
        assert example["type"] == f"/problems/{find_type(int(status)).name}"


class Note(BaseModel):
    """A model that is a body and an answer, with a field that is written in more ways."""

    amount: Decimal


def test_a_body_that_is_an_answer_too_is_closed_only_as_a_body() -> None:
    variant = QueryVariant("note", "Note", lambda _: Reply(200), returns=Note)
    operation = Operation("POST", "/notes", "notes", [variant], body_model=Note)
    schemas = describe_operations([operation])["components"]["schemas"]
    assert schemas["NoteInput"]["additionalProperties"] is False
    assert "additionalProperties" not in schemas["Note"]


def test_an_answer_without_a_body_has_no_content() -> None:
    contact = SPEC["paths"]["/contacts/{id}"]
    assert "content" not in contact["delete"]["responses"]["204"]
    assert "content" not in contact["get"]["responses"]["304"]
    assert "content" in contact["get"]["responses"]["200"]


def test_a_decimal_in_an_answer_is_text() -> None:
    schemas = SPEC["components"]["schemas"]
    decimal = {"type": "string", "format": "decimal"}
    assert {name for name in schemas if "Line" in name} == {"Line", "LineInput"}
    assert schemas["Line"]["properties"]["price"]["type"] == "string"
    assert schemas["OrderRevenueMember"]["properties"]["total"] == {**decimal, "title": "Total"}


def test_it_is_called_after_the_project() -> None:
    assert SPEC["info"]["title"] == "Daicho"
    named = describe_api(DAICHO, replace(LEDGER, project="Shop"))
    assert named["info"]["title"] == "Shop"


def test_an_operation_for_a_role_names_it() -> None:
    assert SPEC["paths"]["/tenant"]["delete"]["security"] == [{"token": ["admin"]}]
    assert SPEC["paths"]["/jobs/{id}"]["get"]["security"] == [{"token": ["admin"]}]
    assert "security" not in SPEC["paths"]["/contacts"]["get"]


def test_the_gateways_own_answers_are_no_problem_documents() -> None:
    responses = SPEC["components"]["responses"]
    assert set(responses["401"]["content"]) == {"application/json"}
    for status in ("429", "503"):
        assert set(responses[status]["content"]) == {"application/json", "application/problem+json"}
    for status, message in (("401", "Unauthorized"), ("429", "Too Many Requests")):
        content = responses[status]["content"]["application/json"]
        assert content["example"] == {"message": message}
        assert content["schema"] == {"$ref": "#/components/schemas/GatewayMessage"}
    for ways in SPEC["paths"].values():
        for operation in ways.values():
            assert operation["responses"]["401"] == {"$ref": "#/components/responses/401"}


def test_each_status_of_a_vote_has_its_own_answer() -> None:
    answers = SPEC["paths"]["/polls/{poll}/votes"]["post"]["responses"]

    def name_schemas(status: str) -> set[str]:
        schema = answers[status]["content"]["application/json"]["schema"]
        return {each["$ref"].rsplit("/", 1)[1] for each in schema.get("anyOf", [schema])}

    assert name_schemas("200") == {"Ballot", "VoteResult"}
    assert name_schemas("201") == {"Ballot"}
    assert name_schemas("202") == {"VoteResult"}
    assert "ETag" not in answers["202"].get("headers", {})
    assert set(answers["201"]["headers"]) == {"ETag", "Location"}


def test_no_example_of_a_key_is_sent_by_everybody() -> None:
    parameters = [
        parameter
        for ways in SPEC["paths"].values()
        for operation in ways.values()
        for parameter in operation.get("parameters", ())
        if parameter["name"] == "Idempotency-Key"
    ]
    assert len(parameters) > 20
    for parameter in parameters:
        assert "example" not in parameter
        assert not {"example", "examples", "default"} & set(parameter["schema"])


def test_fields_have_their_names_in_words_and_as_a_pattern() -> None:
    (fields,) = (
        each
        for each in SPEC["paths"]["/artists/{id}"]["get"]["parameters"]
        if each["name"] == "fields"
    )
    for name in ("id", "name", "created_at", "version"):
        assert name in fields["description"]
        assert re.search(fields["schema"]["pattern"], f"{name},id")
    assert not re.search(fields["schema"]["pattern"], "nmae")
