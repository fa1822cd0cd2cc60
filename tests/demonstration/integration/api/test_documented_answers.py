"""Every answer of the demonstration is one that its description has, and the other way round."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from daicho.errors import TenantClosed, ThrottledError, UnavailableError
from daicho.web.api import Api
from daicho.web.http.preconditions import IF_NONE_MATCH
from tests.demonstration.support.routes import DEMONSTRATION_ROUTES
from tests.support.api_client import Client
from tests.support.deployment import Served
from tests.support.documented_answers import AnswerChecker, Replay, list_spoilt, sort_by_harm

ROUTES = DEMONSTRATION_ROUTES
FIELDS = {"candidate": "a", "song": "x"}
"""Fields of bodies that name items which are made first."""
NEEDING = {
    ("PUT", "/contacts/{id}/categories/{category}"),
    ("DELETE", "/contacts/{id}/categories/{category}"),
    ("DELETE", "/documents/{id}/{section}"),
    ("POST", "/polls/{poll}/votes"),
    ("DELETE", "/polls/{poll}/votes/{voter}"),
}
"""Operations whose success needs more than one request before; they have tests of their own."""


@pytest.fixture(scope="module")
def checker() -> AnswerChecker:
    return AnswerChecker(ROUTES.description)


def test_each_answer_is_documented_and_each_success_occurs(
    served: Served, checker: AnswerChecker
) -> None:
    replay = Replay(ROUTES, checker, served.client("documented"), FIELDS)
    nobody = served.client(None)
    replay.make_items()
    makers = {each.path: each for each in ROUTES.making}
    for operation in sort_by_harm(ROUTES.all):
        for url, options in list_spoilt(replay, operation):
            replay.answer(operation, url, **options)
        refused = nobody(operation.method, replay.build_url(operation), ROUTES.body_of(operation))
        checker.check(operation.method, operation.path, refused)
        if operation.method == "DELETE" and (maker := makers.get(operation.path)):
            replay.answer(maker)
        first = replay.answer(operation)
        if IF_NONE_MATCH in operation.headers and first.status == 200:
            tag = {"if_none_match": first.headers["ETag"]}
            assert replay.answer(operation, headers=tag).status == 304
        if operation.method == "PUT":
            replay.answer(operation, replay.build_url(operation).replace("/x", "/new"))
    missing = {
        at
        for at in ((each.method, each.path) for each in ROUTES.all)
        if any(status < 400 for status in checker.list_documented(*at) - checker.reached[at])
    }
    assert missing == NEEDING


@pytest.mark.parametrize(
    ("error", "status"),
    [(TenantClosed("closed"), 410), (ThrottledError("slow"), 429), (UnavailableError("?"), 503)],
)
def test_answers_of_any_operation_are_documented_for_each(
    checker: AnswerChecker, error: Exception, status: int
) -> None:
    def fail(_access: Any) -> Any:
        raise error

    client = Client(Api(ROUTES.daicho, fail), "acme")
    replay = Replay(ROUTES, checker, client)
    for operation in ROUTES.all:
        assert replay.answer(operation).status == status


def test_a_fast_vote_is_answered_as_documented(served: Served, checker: AnswerChecker) -> None:
    client = served.client("voters")
    path = "/polls/{poll}/votes"

    def vote(poll: Mapping[str, Any], **headers: str) -> int:
        answer = client("POST", f"/polls/{poll['id']}/votes", {"candidate": "ann"}, **headers)
        checker.check("POST", path, answer)
        return answer.status

    polls = {
        counting: client.good(
            "POST", "/polls", {"candidates": ["ann", "bob"], "counting": counting}
        )
        for counting in ("fast", "exact")
    }
    assert vote(polls["fast"]) == 200
    assert vote(polls["exact"], idempotency_key="a") == 201
    assert vote(polls["exact"]) == 400
    assert vote(polls["fast"], idempotency_key="a") == 422
