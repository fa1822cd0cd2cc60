"""The drawn requests take JSON null as an answer where it is a value, and only there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.integration.web.test_fuzz import check_answer
from tests.support.api_client import Client
from tests.support.deployment import Served
from tests.support.described_routes import DescribedRoutes
from tests.support.documented_answers import AnswerChecker
from tests.support.sample_project import SAMPLE_ROUTES

ROUTES = SAMPLE_ROUTES
SECTION = "/documents/{id}/{section}"


def test_null_is_the_value_of_a_section(served: Served, routes: DescribedRoutes) -> None:
    client, checker = Client(served.handler), AnswerChecker(routes.description)
    client.good("PUT", "/documents/x", {"sections": {}})
    for method, raw in (("PUT", "null"), ("GET", None)):
        answer = client(method, "/documents/x/x", raw=raw)
        assert answer.text == "null"
        check_answer(checker, SECTION, method, answer)
        check_answer(checker, None, method, answer)
        with pytest.raises(AssertionError, match="null"):
            check_answer(checker, "/documents/{id}", method, replace(answer, status=200))
        with pytest.raises(AssertionError, match="nul"):
            check_answer(checker, None, method, replace(answer, text="nul"))
