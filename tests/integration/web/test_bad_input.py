"""Bad input, for every route that there is: the right 4xx, the field named, nothing written.

The demonstration has these tests for its routes as well, as a project may for its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

import pytest

from daicho.web.http.operation import Operation
from tests.support.api_client import Answer, Client
from tests.support.deployment import Served
from tests.support.described_routes import IDS, DescribedRoutes, headers_of, url_of
from tests.support.sample_project import SAMPLE_ROUTES

ROUTES = SAMPLE_ROUTES


def refused(answer: Answer, status: int, *fields: str) -> None:
    """The answer is a problem of that status that names these fields."""
    assert answer.status == status, (answer.request, answer.text)
    assert answer.headers["Content-Type"] == "application/problem+json"
    problem = answer.json
    assert {"type", "title", "status", "detail"} <= set(problem)
    assert problem["status"] == status
    assert set(fields) <= answer.fields, (answer.request, answer.text)


@pytest.fixture(autouse=True)
def nothing_is_written(served: Served) -> Iterator[None]:
    before = served.list_items()
    yield
    assert served.list_items() == before


def test_unknown_parameters(acme: Client, operation: Operation, routes: DescribedRoutes) -> None:
    url = url_of(operation, nmae="x")
    refused(
        acme(operation.method, url, routes.body_of(operation), **headers_of(operation)), 400, "nmae"
    )


def test_without_a_tenant(served: Served, operation: Operation, routes: DescribedRoutes) -> None:
    for claimed in (None, "", "Acme", "a#b", "-a", "a" * 64, "a b", "ａｃｍｅ", "acme\n"):
        client = served.client(claimed)
        refused(client(operation.method, url_of(operation), routes.body_of(operation)), 403)


@pytest.mark.operations("with_id")
@pytest.mark.parametrize("length", [2_049, 10_000])
def test_overlong_ids(
    acme: Client, operation: Operation, length: int, routes: DescribedRoutes
) -> None:
    url = url_of(operation, "i" * length)
    answer = acme(operation.method, url, routes.body_of(operation), **headers_of(operation))
    if {each.name for each in operation.variables} - set(IDS):
        refused(answer, 422, *answer.fields)
        assert answer.fields <= {each.name for each in operation.variables} | {"id"}


@pytest.mark.operations("with_id")
def test_ids_that_nobody_has(
    acme: Client, globex: Client, operation: Operation, routes: DescribedRoutes
) -> None:
    if operation.body is not None and operation.method in {"PUT", "POST"}:
        return  # these make what is not there
    # Nobody's cart is an empty one.
    wanted = {409} if operation.path.endswith("/checkout") else {200, 404}
    answers = [
        client(operation.method, url_of(operation, id), routes.body_of(operation))
        for client in (acme, globex)
        for id in ("nobody", "a#b", "$23", "acme#Artist#1", "😀\u0000", "../x"[3:])
    ]
    assert {answer.status for answer in answers} <= wanted
    for answer in answers:
        if answer.status == 200:
            assert not answer.json.get("items"), answer.request


@pytest.mark.operations("with_id")
def test_ids_that_change_on_their_way(
    acme: Client, operation: Operation, routes: DescribedRoutes
) -> None:
    """Clients and proxies remove dots from a path; the gateway replaces bytes that are no UTF-8."""
    method, body, headers = operation.method, routes.body_of(operation), headers_of(operation)
    texts = {each.name for each in operation.variables} - set(IDS)
    for id in ("%2E", "%2e%2E", "%252e%252E"):
        url = url_of(operation, "TO-BE-REPLACED").replace("TO-BE-REPLACED", id)
        if texts:
            refused(acme(method, url, body, **headers), 422)
    for id in ("%FF", "%FE", "a%C3", "%EF%BF%BD"):
        url = url_of(operation, "TO-BE-REPLACED").replace("TO-BE-REPLACED", id)
        if texts:
            refused(acme(method, url, body, **headers), 400)


@pytest.mark.operations("listing")
def test_limits_out_of_range(acme: Client, operation: Operation) -> None:
    for limit in ("0", "101", "-1", "x", "", "5.0", "1e1", "９", "99999999999999999999999"):
        refused(acme("GET", url_of(operation, limit=limit)), 422, "limit")


@pytest.mark.operations("listing")
def test_wrong_cursors(acme: Client, operation: Operation) -> None:
    if operation.path.startswith("/polls"):
        return  # there is no such poll: 404 before
    for cursor in ("", "x", "WzEsInRoZSIsMCwieCJd", "%", "😀", "A" * 9_000, "W10=", "bnVsbA"):
        answer = acme("GET", url_of(operation, cursor=cursor))
        if answer.status != 200 or answer.json["items"]:
            refused(answer, 400, "cursor")


@pytest.mark.operations("listing")
def test_parameters_twice_or_undecodable(acme: Client, operation: Operation) -> None:
    url = url_of(operation, limit="5")
    refused(acme("GET", f"{url}&limit=5"), 400, "limit")
    refused(acme("GET", f"{url}&cursor=%ff"), 400)


def serves(one: Operation, other: Operation) -> bool:
    """Whether one's path serves the other's: a variable may stand for a literal."""
    words = zip_longest(one.shape[1].split("/"), other.shape[1].split("/"))
    return all(mine in ("{}", theirs) and theirs is not None for mine, theirs in words)


def test_other_methods(acme: Client, operation: Operation, routes: DescribedRoutes) -> None:
    known = {each.method for each in routes.all if serves(each, operation)}
    known |= {"HEAD"} if "GET" in known else set()
    for method in {"GET", "PUT", "POST", "PATCH", "DELETE", "HEAD", "TRACE"} - known:
        answer = acme(method, url_of(operation))
        if method == "HEAD":
            assert (answer.status, answer.text) == (405, "")
        else:
            refused(answer, 405)
        assert set(answer.headers["Allow"].split(", ")) == known


@pytest.mark.operations("with_body")
def test_bodies_that_are_none(acme: Client, operation: Operation) -> None:
    method, url, headers = operation.method, url_of(operation), headers_of(operation)
    for broken in ("{", '{"a":}', "{'a': 1}", "\ufeff{}", '{"a":1}x', '"\\ud800"', "[" * 5_000):
        refused(acme(method, url, raw=broken, **headers), 400)
    for other in ("[]", "[{}]", "null", "5", '"x"', "true"):
        refused(acme(method, url, raw=other, **headers), 422, "body")
    for twice, key in (
        ('{"a":1,"a":2}', "a"),
        ('{"a":{"b":[{"\\u0063":1,"c":2}]}}', "c"),
        ('[{"":1,"":1}]', ""),
    ):
        refused(acme(method, url, raw=twice, **headers), 400, key or "body")
    refused(acme(method, url, **headers), 422, "body")
    refused(acme(method, url, raw=b"\xff\xfe", **headers), 400)
    refused(acme(method, url, raw='{"a":"' + "x" * operation.max_body_bytes + '"}', **headers), 413)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "x"):
        refused(acme(method, url, raw="{}", content_type=kind, **headers), 415)


@pytest.mark.operations("with_body")
def test_fields_that_are_wrong(acme: Client, operation: Operation, routes: DescribedRoutes) -> None:
    method, url, headers = operation.method, url_of(operation), headers_of(operation)
    good = routes.body_of(operation)
    refused(acme(method, url, {**good, "nmae": 1}, **headers), 422, "nmae")
    refused(acme(method, url, {**good, "PK": "x"}, **headers), 422, "PK")
    properties = routes.description["components"]["schemas"][operation.body.__name__]["properties"]  # type: ignore[union-attr]
    for name, schema in properties.items():
        kinds = {each.get("type") for each in (schema, *schema.get("anyOf", ()))}
        for kind, values in _VALUES.items():
            if kind in kinds or (kind == "integer" and "number" in kinds):
                continue
            for value in values:
                answer = acme(method, url, {**good, name: value}, **headers)
                assert answer.status == 422, (answer.request, name, value, answer.text)
                assert any(each.startswith(name) for each in answer.fields), answer.text


_VALUES: dict[str, list[Any]] = {
    "integer": [5, 0, -1, 10**40],
    "number": [0.5, 1e300],
    "boolean": [True, False],
    "null": [None],
    "array": [[], ["x"], [[]]],
    "object": [{}, {"x": 1}],
    "string": ["5", "", "true", "null"],
}


@pytest.mark.operations("changing")
def test_conditions_that_are_not_looked_at(
    acme: Client, operation: Operation, routes: DescribedRoutes
) -> None:
    taken = {each.name for each in operation.headers}
    for name in {"If-Match", "If-None-Match"} - taken:
        headers = headers_of(operation) | {name.replace("-", "_"): '"1"'}
        answer = acme(operation.method, url_of(operation), routes.body_of(operation), **headers)
        refused(answer, 400, name)
