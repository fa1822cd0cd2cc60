"""Preconditions over the real handler: If-Match and If-None-Match."""

from __future__ import annotations

import pytest

from tests.support.api_client import Client


@pytest.fixture
def album(acme: Client, request: pytest.FixtureRequest) -> str:
    url = f"/albums/{request.node.name[-40:]}"
    acme.good("PUT", url, {"title": "Low", "artist": "1", "genre": "Rock", "studio": "Hansa"})
    return url


def test_put_only_where_nothing_is(acme: Client, album: str) -> None:
    body = {"title": "Other", "artist": "1", "genre": "Rock"}
    assert acme("PUT", album, body, if_none_match="*").status == 412
    assert acme("PUT", f"{album}-new", body, if_none_match="*").status == 201
    assert acme("PUT", album, body, if_none_match='"1"').status == 400
    for headers in ({}, {"idempotency_key": "both"}):  # nothing is both absent and of a version
        both = {"if_match": '"1"', "if_none_match": "*", **headers}
        assert acme("PUT", f"{album}-none", body, **both).status == 412
    assert acme("GET", f"{album}-none").status == 404


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_writes_hold_to_if_match(acme: Client, album: str, method: str) -> None:
    whole = {"title": "Other", "artist": "1", "genre": "Pop"}
    body = {"PUT": whole, "PATCH": {"genre": "Pop"}, "DELETE": None}[method]
    for stale in ('"0"', '"2"', 'W/"1"', '"x"', '"7", "8"', '""'):
        assert acme(method, album, body, if_match=stale).status == 412, stale
    for wrong in ("1", '"1', "", '"1" "2"', "**"):
        answer = acme(method, album, body, if_match=wrong)
        assert (answer.status, answer.fields) == (400, {"If-Match"}), wrong
    assert acme.good("GET", album)["version"] == 1
    assert acme(method, album, body, if_match='"1", "5"').status < 300
