"""The description of all routes: complete, unique, and what is served."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import TypeAdapter

from daicho.web.http.operation import Operation
from daicho.web.openapi.examples import UNKNOWN
from tests.support.described_routes import DescribedRoutes
from tests.support.sample_project import SAMPLE_ROUTES

ROUTES = SAMPLE_ROUTES


def references(value: Any) -> set[str]:
    match value:
        case {"$ref": str(reference)}:
            return {reference}
        case dict():
            return set().union(*map(references, value.values()))
        case list():
            return set().union(*map(references, value))
    return set()


def test_it_has_every_operation_once(routes: DescribedRoutes) -> None:
    described = routes.description["paths"].values()
    ids = [operation["operationId"] for item in described for operation in item.values()]
    assert len(ids) == len(set(ids)) == len(routes.served)


@pytest.mark.operations("served")
def test_each_operation_is_described(operation: Operation, routes: DescribedRoutes) -> None:
    described, path = routes.describe(operation), operation.path
    assert described["tags"][0] in {"tenant", *(domain.name for domain in routes.daicho.domains)}
    assert described["summary"]
    for status in ("400", "401", "403", "404", "410", "422", "429", "503"):
        assert described["responses"][status] == {"$ref": f"#/components/responses/{status}"}
    good = [status for status in described["responses"] if int(status) < 400]
    assert good
    named = {each["name"] for each in described.get("parameters", ()) if each["in"] == "path"}
    assert all(f"{{{name}}}" in path for name in named)
    assert path.count("{") == len(named)


def test_every_reference_leads_somewhere(routes: DescribedRoutes) -> None:
    for reference in references(routes.description):
        found: Any = routes.description
        for word in reference.removeprefix("#/").split("/"):
            found = found[word]
        assert found


def test_every_schema_has_an_example(routes: DescribedRoutes) -> None:
    for name, schema in routes.description["components"]["schemas"].items():
        assert schema["examples"], name


@pytest.mark.operations("served_bodies")
def test_the_example_of_a_body_can_be_sent(operation: Operation, routes: DescribedRoutes) -> None:
    example = routes.describe(operation)["requestBody"]["content"]["application/json"]["example"]
    text = json.dumps(example)
    assert operation.body is not None
    operation.body.model_validate_json(text, strict=True, extra="forbid")
    assert UNKNOWN not in json.dumps(example, ensure_ascii=False), (
        f"{operation.tag}: {example}: give a value in Domain(examples=...) or field(examples=[...])"
    )


@pytest.mark.operations("served")
def test_the_examples_of_parameters_can_be_sent_and_answers_have_some(
    operation: Operation, routes: DescribedRoutes
) -> None:
    described = routes.describe(operation)
    given = {(each["name"], each["in"]): each for each in described.get("parameters", ())}
    for each in (*operation.variables, *operation.parameters.values(), *operation.headers):
        parameter = given[each.name, each.place]
        if each.name in ("cursor", "Idempotency-Key"):
            continue
        assert "example" in parameter, f"{operation.tag}: {each.name}"
        sent = parameter["example"]
        text = str(sent).lower() if isinstance(sent, bool) else str(sent)
        TypeAdapter(each.annotation).validate_python(text)
    for status, answer in described["responses"].items():
        content = answer.get("content", {}).get("application/json")
        if content and int(status) < 300:
            assert content["example"]


def test_a_parameter_is_given_or_omitted_and_never_null(routes: DescribedRoutes) -> None:
    for path, ways in routes.description["paths"].items():
        for method, operation in ways.items():
            for parameter in operation.get("parameters", ()):
                schema = json.dumps(parameter["schema"])
                assert "null" not in schema, (path, method, parameter["name"])
