"""Preconditions and changes, over the real handler: ETag, If-Match, If-None-Match, PATCH."""

from __future__ import annotations

import pytest

from tests.support.api_client import Client


@pytest.fixture
def album(acme: Client, request: pytest.FixtureRequest) -> str:
    url = f"/albums/{request.node.name[-40:]}"
    acme.good("PUT", url, {"title": "Low", "artist": "1", "genre": "Rock", "studio": "Hansa"})
    return url


def test_put_creates_then_replaces(acme: Client) -> None:
    body = {"title": "Aja", "artist": "3", "genre": "Rock"}
    created = acme("PUT", "/albums/aja", body)
    assert (created.status, created.headers["Location"]) == (201, "/albums/aja")
    replaced = acme("PUT", "/albums/aja", {**body, "genre": "Jazz"})
    assert (replaced.status, replaced.headers["ETag"]) == (200, '"2"')
    assert replaced.json["created_at"] == created.json["created_at"]
    assert "Location" not in replaced.headers


def test_put_only_where_nothing_is(acme: Client, album: str) -> None:
    body = {"title": "Other", "artist": "1", "genre": "Rock"}
    assert acme("PUT", album, body, if_none_match="*").status == 412
    assert acme("PUT", f"{album}-new", body, if_none_match="*").status == 201
    assert acme("PUT", album, body, if_none_match='"1"').status == 400
    for headers in ({}, {"idempotency_key": "both"}):  # nothing is both absent and of a version
        both = {"if_match": '"1"', "if_none_match": "*", **headers}
        assert acme("PUT", f"{album}-none", body, **both).status == 412
    assert acme("GET", f"{album}-none").status == 404


def test_get_what_one_has_already(acme: Client, album: str) -> None:
    for known in ('"1"', 'W/"1"', '"0", "1"', "*"):
        answer = acme("GET", album, if_none_match=known)
        assert (answer.status, answer.text, answer.headers["ETag"]) == (304, "", '"1"'), known
    assert acme("GET", album, if_none_match='"2"').status == 200


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


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_any_version_will_do_if_there_is_one(acme: Client, album: str, method: str) -> None:
    body = {"title": "x", "artist": "1", "genre": "x"} if method == "PUT" else {"genre": "Pop"}
    sent = None if method == "DELETE" else body
    assert acme(method, f"{album}-none", sent, if_match="*").status == 412
    assert acme(method, f"{album}-none", sent, if_match='"1"').status in {404, 412}
    assert acme(method, album, sent, if_match="*").status < 300


def test_patch_changes_what_it_names(acme: Client, album: str) -> None:
    before = acme.good("GET", album)
    after = acme.good("PATCH", album, {"genre": "Art Rock", "studio": None})
    assert after == {**before, "genre": "Art Rock", "studio": None, "version": 2}
    assert acme.good("GET", album) == after
    merged = acme("PATCH", album, raw='{"genre":"x"}', content_type="application/merge-patch+json")
    assert merged.status == 200


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"genre": None}, "genre"),
        ({"genre": ""}, "genre"),
        ({"title": 5}, "title"),
        ({"id": "other"}, "id"),
        ({"version": 9}, "version"),
        ({"created_at": "2026-01-01T00:00:00Z"}, "created_at"),
        ({"nmae": "x"}, "nmae"),
    ],
)
def test_patch_refuses(acme: Client, album: str, change: dict[str, object], field: str) -> None:
    answer = acme("PATCH", album, change)
    assert (answer.status, answer.fields) == (422, {field})
    assert acme.good("GET", album)["version"] == 1


def test_deleted_is_gone(acme: Client, album: str) -> None:
    assert acme("DELETE", album).status == 204
    assert acme("GET", album).status == 404
    assert acme("DELETE", album).status == 404
    assert acme("PATCH", album, {"genre": "x"}).status == 404
