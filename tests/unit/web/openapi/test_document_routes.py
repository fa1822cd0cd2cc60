"""The description of all routes: complete, unique, and what is served."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter

from daicho.web.http.operation import Operation
from tests.support.described_routes import DescribedRoutes
from tests.support.sample_project import SAMPLE_ROUTES

ROUTES = SAMPLE_ROUTES


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
