"""Each problem names its type, and each type has a page."""

from __future__ import annotations

import re
from typing import Any

import pytest

from daicho import errors
from daicho.declare.registry import Daicho
from daicho.errors import Refusal, refuse
from daicho.query.access import Access
from daicho.web.api import Api
from daicho.web.http.problem_types import TYPES, find_type, render_page
from daicho.web.http.problems import HttpError
from tests.support.api_client import Client
from tests.support.sample_domain import TOYS

SERVER = "https://api.example/stage"


def failing(error: Exception) -> Client:
    def no_book(_: Access) -> Any:
        raise error

    return Client(Api(Daicho(*TOYS), no_book, server=SERVER), "acme")


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (errors.NotFound("x"), "not-found"),
        (errors.BadCursor(), "bad-cursor"),
        (errors.Conflict("x"), "conflict"),
        (errors.Raced("x"), "raced"),
        (errors.NotUnique("x"), "not-unique"),
        (errors.TenantClosed("x"), "tenant-closed"),
        (errors.PreconditionFailed("x"), "precondition-failed"),
        (errors.Invalid("x", field="f"), "invalid"),
        (errors.KeyReused("x", field="Idempotency-Key"), "idempotency-key-reused"),
        (errors.Invalid("a fast vote", field="Idempotency-Key"), "invalid"),
        (errors.ReferenceNotFound("x", field="f"), "reference-not-found"),
        (errors.ThrottledError("x"), "too-many-requests"),
        (errors.UnansweredError("x"), "service-unavailable"),
        (ValueError("x"), "internal-server-error"),
        (refuse(409, "x"), "conflict"),
        (HttpError(403, "x"), "forbidden"),
    ],
)
def test_a_problem_names_its_type_and_the_type_its_page(error: Exception, name: str) -> None:
    client = failing(error)
    problem = client("GET", "/contacts/1").json
    known = next(each for each in TYPES if each.name == name)
    assert problem["type"] == f"{SERVER}/problems/{name}"
    assert (problem["status"], problem["title"]) == (known.status, known.title)
    page = Client(client.handler, None)("GET", f"/problems/{name}")
    assert page.status == 200
    assert page.headers["Content-Type"].startswith("text/html")
    assert known.means.split("`")[0][:20] in page.text
    assert re.findall('<section id="(.*?)"', page.text) == [name]


def test_a_status_without_a_type_is_blank() -> None:
    problem = failing(refuse(418, "a teapot"))("GET", "/contacts/1").json
    assert (problem["type"], problem["title"]) == ("about:blank", "I'm a Teapot")


def test_the_pages_are_open_and_what_is_no_type_is_not_found() -> None:
    client = Client(failing(ValueError()).handler, None)
    whole = client("GET", "/problems")
    assert whole.status == 200
    assert re.findall('<section id="(.*?)"', whole.text) == [each.name for each in TYPES]
    assert client("GET", "/problems/nothing").status == 404
    assert client("GET", "/problems/%3Cscript%3E").json["type"].endswith("/problems/not-found")
    assert client("GET", "/problematic").status == 403
    assert render_page("nothing") is None


def test_every_refusal_of_the_library_has_a_type() -> None:
    kinds = [
        each
        for each in vars(errors).values()
        if isinstance(each, type) and issubclass(each, Refusal)
    ]
    assert len(kinds) > 5
    for kind in kinds:
        found = find_type(kind.status, kind.type)
        assert (found.status, bool(found.name)) == (kind.status, True), kind
    assert len({each.name for each in TYPES}) == len(TYPES)
    assert all(each.means and each.remedy for each in TYPES)
