"""Bad input, for every route that there is: the right 4xx, the field named, nothing written."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

import pytest
from pydantic import RootModel

from daicho.web.http.operation import Operation
from tests.support.api_client import Answer, Client, segment
from tests.support.deployment import Served
from tests.support.described_routes import ALL, DESCRIBED, IDS, body_of, headers_of, named, url_of

QUERIES = [each for each in ALL if "limit" in each.parameters]
WITH_BODY = [each for each in ALL if each.body and not issubclass(each.body, RootModel)]
"""Those of any JSON value have tests of their own (`test_api_documents`)."""
WITH_ID = [each for each in ALL if each.variables]


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
    before = served.count()
    yield
    assert served.count() == before


@pytest.mark.parametrize("operation", ALL, ids=named)
def test_unknown_parameters(acme: Client, operation: Operation) -> None:
    url = url_of(operation, nmae="x")
    refused(acme(operation.method, url, body_of(operation), **headers_of(operation)), 400, "nmae")


@pytest.mark.parametrize("operation", ALL, ids=named)
def test_without_a_tenant(served: Served, operation: Operation) -> None:
    for claimed in (None, "", "Acme", "a#b", "-a", "a" * 64, "a b", "ａｃｍｅ", "acme\n"):
        client = served.client(claimed)
        refused(client(operation.method, url_of(operation), body_of(operation)), 403)


@pytest.mark.parametrize("operation", WITH_ID, ids=named)
@pytest.mark.parametrize("length", [2_049, 10_000])
def test_overlong_ids(acme: Client, operation: Operation, length: int) -> None:
    url = url_of(operation, "i" * length)
    answer = acme(operation.method, url, body_of(operation), **headers_of(operation))
    if {each.name for each in operation.variables} - set(IDS):
        refused(answer, 422, *answer.fields)
        assert answer.fields <= {each.name for each in operation.variables} | {"id"}


@pytest.mark.parametrize("operation", WITH_ID, ids=named)
def test_ids_that_nobody_has(acme: Client, globex: Client, operation: Operation) -> None:
    if operation.body is not None and operation.method in {"PUT", "POST"}:
        return  # these make what is not there
    # Nobody's cart is an empty one.
    wanted = {409} if operation.path.endswith("/checkout") else {200, 404}
    answers = [
        client(operation.method, url_of(operation, id), body_of(operation))
        for client in (acme, globex)
        for id in ("nobody", "a#b", "$23", "acme#Artist#1", "😀\u0000", "../x"[3:])
    ]
    assert {answer.status for answer in answers} <= wanted
    for answer in answers:
        if answer.status == 200:
            assert not answer.json.get("items"), answer.request


@pytest.mark.parametrize("operation", QUERIES, ids=named)
def test_limits_out_of_range(acme: Client, operation: Operation) -> None:
    for limit in ("0", "101", "-1", "x", "", "5.0", "1e1", "９", "99999999999999999999999"):
        refused(acme("GET", url_of(operation, limit=limit)), 422, "limit")


@pytest.mark.parametrize("operation", QUERIES, ids=named)
def test_wrong_cursors(acme: Client, operation: Operation) -> None:
    if operation.path.startswith("/polls"):
        return  # there is no such poll: 404 before
    for cursor in ("", "x", "WzEsInRoZSIsMCwieCJd", "%", "😀", "A" * 9_000, "W10=", "bnVsbA"):
        answer = acme("GET", url_of(operation, cursor=cursor))
        if answer.status != 200 or answer.json["items"]:
            refused(answer, 400, "cursor")


@pytest.mark.parametrize("operation", QUERIES, ids=named)
def test_parameters_twice_or_undecodable(acme: Client, operation: Operation) -> None:
    url = url_of(operation, limit="5")
    refused(acme("GET", f"{url}&limit=5"), 400, "limit")
    refused(acme("GET", f"{url}&cursor=%ff"), 400)


def serves(one: Operation, other: Operation) -> bool:
    """Whether one's path serves the other's: a variable may stand for a literal."""
    words = zip_longest(one.shape[1].split("/"), other.shape[1].split("/"))
    return all(mine in ("{}", theirs) and theirs is not None for mine, theirs in words)


@pytest.mark.parametrize("operation", ALL, ids=named)
def test_other_methods(acme: Client, operation: Operation) -> None:
    known = {each.method for each in ALL if serves(each, operation)}
    for method in {"GET", "PUT", "POST", "PATCH", "DELETE", "HEAD", "TRACE"} - known:
        answer = acme(method, url_of(operation))
        refused(answer, 405)
        assert set(answer.headers["Allow"].split(", ")) == known


@pytest.mark.parametrize("operation", WITH_BODY, ids=named)
def test_bodies_that_are_none(acme: Client, operation: Operation) -> None:
    method, url, headers = operation.method, url_of(operation), headers_of(operation)
    for broken in ("{", '{"a":}', "{'a': 1}", "\ufeff{}", '{"a":1}x', '"\\ud800"', "[" * 5_000):
        refused(acme(method, url, raw=broken, **headers), 400)
    for other in ("[]", "[{}]", "null", "5", '"x"', "true"):
        refused(acme(method, url, raw=other, **headers), 422, "body")
    refused(acme(method, url, **headers), 422, "body")
    refused(acme(method, url, raw=b"\xff\xfe", **headers), 400)
    refused(acme(method, url, raw='{"a":"' + "x" * operation.max_body_bytes + '"}', **headers), 413)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "x"):
        refused(acme(method, url, raw="{}", content_type=kind, **headers), 415)


@pytest.mark.parametrize("operation", WITH_BODY, ids=named)
def test_fields_that_are_wrong(acme: Client, operation: Operation) -> None:
    method, url, headers = operation.method, url_of(operation), headers_of(operation)
    good = body_of(operation)
    refused(acme(method, url, {**good, "nmae": 1}, **headers), 422, "nmae")
    refused(acme(method, url, {**good, "PK": "x"}, **headers), 422, "PK")
    properties = DESCRIBED["components"]["schemas"][operation.body.__name__]["properties"]  # type: ignore[union-attr]
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


@pytest.mark.parametrize(
    ("url", "body", "field"),
    [
        ("/artists/1", {"name": "n" * 257}, "name"),
        ("/artists/1", {"name": "n", "career_start": 10**39}, "career_start"),
        ("/albums/1", {"title": "t" * 420_000, "artist": "1", "genre": "g"}, "title"),
        ("/albums/1", {"title": "題" * 140_000, "artist": "1", "genre": "g"}, "title"),
        ("/albums/1", {"title": "t", "artist": "1", "genre": "g" * 1_100}, "genre"),
        ("/albums/1", {"title": "t", "artist": "a" * 2_100, "genre": "g"}, "artist"),
        ("/albums/1", {"title": "t", "artist": "", "genre": "g"}, "artist"),
        ("/songs/1", {"title": "t" * 3_000, "artist": "1", "released": 1}, "title"),
        ("/songs/1", {"title": "t", "artist": "1", "released": 10_000}, "released"),
        ("/songs/1", {"title": "t", "artist": "1", "released": -1}, "released"),
        ("/playlists/1/songs/1", {"note": "n" * 420_000}, "note"),
    ],
)
def test_values_that_are_too_much(acme: Client, url: str, body: Any, field: str) -> None:
    refused(acme("PUT", url, body), 422, field)


def test_a_keyword_has_its_limits(acme: Client) -> None:
    refused(acme("GET", f"/artists?name={'n' * 65}"), 422, "name")
    assert acme("GET", "/artists?name=a+b+c+d+e+f").status == 422
    assert acme("GET", "/artists?name=").status == 200
    refused(acme("GET", "/artists"), 400)


def test_choices_are_listed(acme: Client) -> None:
    for query in ("", "?released=1977", "?artist=x&title=y", "?limit=5"):
        answer = acme("GET", f"/songs{query}")
        refused(answer, 400)
        for choice in ("?title=", "?artist=&released=", "?artist="):
            assert choice in answer.json["detail"]


CHANGES = [each for each in ALL if each.method != "GET"]


@pytest.mark.parametrize("operation", CHANGES, ids=named)
def test_conditions_that_are_not_looked_at(acme: Client, operation: Operation) -> None:
    taken = {each.name for each in operation.headers}
    for name in {"If-Match", "If-None-Match"} - taken:
        headers = headers_of(operation) | {name.replace("-", "_"): '"1"'}
        answer = acme(operation.method, url_of(operation), body_of(operation), **headers)
        refused(answer, 400, name)


def test_what_would_have_no_address(acme: Client) -> None:
    refused(acme("PUT", "/articles/count", {"title": "How many", "text": "…"}), 422, "id")
    for url, field, body in (
        ("/orders", "customer", {"date": "2026-11-21"}),
        ("/devices/d/reports", "escalated_to", {}),
        ("/songs", "artist", {"title": "t", "released": 1}),
    ):
        refused(acme("POST", url, {**body, field: "a/b"}), 422, field)


def test_paths_that_lead_nowhere(acme: Client) -> None:
    for path in (
        *("/", "//", "/song", "/songs/", "/songs/1/", "/songs//playlists", "/artists/a%2Fb/x"),
        *("/docs/x", "/charts/2026-11/x/y", "/songs%0A", "/SONGS"),
    ):
        refused(acme("GET", path), 404)


SPECIAL = (
    "#",
    "$",
    "%",
    "a#b$c",
    "$23",
    "%2F",
    "a b",
    "日本語",
    "😀",
    '"<>\\`',
    "+",
    "a\nb",
    "'",
    "~",
)


@pytest.mark.parametrize("id", SPECIAL)
def test_any_id_comes_back_as_it_was_sent(acme: Client, id: str) -> None:
    url = f"/playlists/{segment(id)}"
    answer = acme("PUT", url, {"name": id})
    assert answer.status == 201, answer.text
    assert answer.json["id"] == id
    assert acme.good("GET", answer.headers["Location"])["id"] == id
    assert acme("DELETE", answer.headers["Location"]).status == 204
