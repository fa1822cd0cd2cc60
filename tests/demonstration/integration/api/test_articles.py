"""Articles (by copy) and manuals (by pointer) over the real handlers: the same routes."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.support.api_client import Client, segment
from tests.support.deployment import Served

NUMBERS = itertools.count()
BODY = {"title": "Title", "text": "Text"}


@pytest.fixture(params=["articles", "manuals"])
def path(request: pytest.FixtureRequest) -> str:
    return f"/{request.param}"


@pytest.fixture
def url(acme: Client, path: str) -> str:
    """An item of three versions."""
    made = f"{path}/{next(NUMBERS)}"
    for number in range(1, 4):
        acme.good("PUT", made, {"title": "Title", "text": f"text {number}"})
    return made


def test_writing_and_reading(acme: Client, path: str) -> None:
    created = acme("PUT", f"{path}/w", BODY)
    assert (created.status, created.headers["Location"]) == (201, f"{path}/w")
    assert created.headers["ETag"] == '"1"'
    assert created.json["versioned_at"] == created.json["created_at"]
    replaced = acme("PUT", f"{path}/w", {**BODY, "text": "two"})
    assert (replaced.status, replaced.headers["ETag"]) == (200, '"2"')
    patched = acme("PATCH", f"{path}/w", {"title": "three"}, if_match='"2"')
    assert (patched.status, patched.headers["ETag"]) == (200, '"3"')
    assert patched.json == {**replaced.json, **{n: patched.json[n] for n in CHANGED}}
    assert acme.good("GET", f"{path}/w") == patched.json
    first = acme("GET", f"{path}/w/versions/1")
    assert (first.json, first.headers["ETag"]) == (created.json, '"1"')
    assert acme("GET", f"{path}/w/versions/1", if_none_match='"1"').status == 304
    assert acme.good("GET", f"{path}/w/versions/1?fields=text") == {"text": "Text"}
    now = acme("GET", f"{path}/w?fields=title,version,versioned_at")
    assert now.headers["ETag"] == '"3"'
    assert now.json == {name: patched.json[name] for name in CHANGED}
    times = acme.everything(f"{path}/w/versions?fields=version,versioned_at", 2)
    assert [each["version"] for each in times] == [3, 2, 1]
    assert set(times[0]) == {"version", "versioned_at"}
    versions = acme.everything(f"{path}/w/versions", 2)
    assert versions == [patched.json, replaced.json, created.json]


CHANGED = ("title", "version", "versioned_at")


def test_post_makes_the_id(acme: Client, path: str) -> None:
    made = acme("POST", path, BODY)
    assert made.status == 201
    assert acme.good("GET", f"{made.headers['Location']}/versions")["items"] == [made.json]


def test_editors_who_are_late(acme: Client, url: str) -> None:
    for method, at, body in (
        ("PUT", url, BODY),
        ("PATCH", url, {"text": "x"}),
        ("POST", f"{url}/versions/1/restore", None),
        ("DELETE", url, None),
    ):
        for stale in ('"2"', '"4"', 'W/"3"', '"1", "2"'):
            assert acme(method, at, body, if_match=stale).status == 412, (method, stale)
        assert acme(method, at, body, if_match="3").status == 400
    assert acme.good("GET", url)["version"] == 3
    assert acme("PUT", url, BODY, if_none_match="*").status == 412
    assert acme("PUT", url, BODY, if_match='"1", "3"').status == 200


def test_restoring(acme: Client, url: str) -> None:
    answer = acme("POST", f"{url}/versions/1/restore", if_match='"3"')
    assert (answer.status, answer.headers["ETag"]) == (200, '"4"')
    assert answer.json["text"] == "text 1"
    assert acme.good("GET", url) == answer.json
    assert acme("POST", f"{url}/versions/9/restore").status == 404
    unknown = acme("GET", f"{url}/versions/9")
    assert unknown.status == 404
    assert unknown.json["detail"].startswith("no version 9 of ")


def test_removing_keeps_the_versions_until_they_are_forgotten(acme: Client, url: str) -> None:
    assert acme("DELETE", url).status == 204
    assert acme("GET", url).status == 404
    assert acme("DELETE", url).status == 404
    assert [each["version"] for each in acme.everything(f"{url}/versions")] == [3, 2, 1]
    assert acme.good("GET", f"{url}/versions/3")["text"] == "text 3"
    assert acme("GET", f"{url}/versions/4").status == 404
    again = acme("PUT", url, BODY)
    assert (again.status, again.headers["ETag"]) == (201, '"5"')
    assert acme.good("DELETE", f"{url}/versions") == {"removed": 4, "done": True}
    assert [each["version"] for each in acme.everything(f"{url}/versions")] == [5]
    assert acme.good("DELETE", f"{url}/versions") == {"removed": 0, "done": True}
    acme.good("DELETE", url)
    assert acme.good("POST", f"{url}/versions/5/restore")["version"] == 7
    acme.good("DELETE", url)
    acme.good("DELETE", f"{url}/versions")
    for gone in (url, f"{url}/versions", f"{url}/versions/7"):
        assert acme("GET", gone).status == 404


@pytest.mark.parametrize(
    ("number", "status"),
    [("0", 422), ("-1", 422), ("x", 422), ("1.0", 422), ("1e3", 422), ("١", 422), ("9" * 30, 422),
     ("4", 404), ("1000000000000000", 404), ("1%2F2", 404)],
)  # fmt: skip
def test_numbers_that_are_none(acme: Client, url: str, number: str, status: int) -> None:
    for method, at in (("GET", ""), ("POST", "/restore")):
        answer = acme(method, f"{url}/versions/{number}{at}")
        assert answer.status == status, answer.text
        assert status == 404 or answer.fields == {"version"}


def test_other_tenants_have_others(globex: Client, url: str) -> None:
    for method, at in (
        ("GET", "/versions"),
        ("GET", "/versions/1"),
        ("POST", "/versions/1/restore"),
        ("DELETE", "/versions"),
    ):
        assert globex(method, f"{url}{at}").status == 404


@pytest.mark.parametrize("id", ["a#b", "$", "!", "a b", "日本語", "😀", "@Article", "-"])
def test_any_id(acme: Client, path: str, id: str) -> None:
    url = f"{path}/any{segment(id)}"
    for _ in range(2):
        acme.good("PUT", url, {"title": id, "text": id})
    assert [each["id"] for each in acme.everything(f"{url}/versions", 1)] == [f"any{id}"] * 2
    assert acme.good("POST", f"{url}/versions/1/restore")["title"] == id


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"title": "x"}, "text"),
        ({**BODY, "nmae": 1}, "nmae"),
        ({**BODY, "version": 1}, "version"),
        ({**BODY, "versioned_at": "2026-11-21T00:00:00Z"}, "versioned_at"),
        ({**BODY, "text": 5}, "text"),
        ({**BODY, "text": "x" * 420_000}, "text"),
    ],
)
def test_what_is_refused_makes_no_version(
    served: Served, acme: Client, url: str, body: Any, field: str
) -> None:
    before = served.count()
    answer = acme("PUT", url, body)
    assert (answer.status, answer.fields) == (422, {field})
    assert served.count() == before


def test_a_repeat_under_a_key_makes_one_version(acme: Client, url: str) -> None:
    sent: tuple[tuple[str, str, Any], ...] = (
        ("PUT", url, {"title": "T", "text": "four"}),
        ("PATCH", url, {"text": "five"}),
        ("POST", f"{url}/versions/1/restore", None),
        ("DELETE", url, None),
    )
    for version, (method, at, body) in enumerate(sent, start=4):
        answers = [acme(method, at, body, idempotency_key=f"{url}{version}") for _ in range(3)]
        assert len({(each.status, each.text) for each in answers}) == 1, answers
        assert answers[0].status < 300
    assert [each["version"] for each in acme.everything(f"{url}/versions")] == [6, 5, 4, 3, 2, 1]
    other = acme("PUT", url, {"title": "T", "text": "x"}, idempotency_key=f"{url}4")
    assert other.status == 422


def test_an_article_is_searched_listed_and_counted_by_what_it_says_now(
    served: Served, globex: Client
) -> None:
    for number in range(3):
        globex.good("PUT", f"/articles/s{number}", {**BODY, "title": "old", "author": "ann"})
        globex.good("PATCH", f"/articles/s{number}", {"title": f"new {number}"})
    globex.good("PATCH", "/articles/s1", {"author": "bob"})
    globex.good("DELETE", "/articles/s2")
    served.catch_up()
    found = globex.everything("/articles?title=new")
    assert [(each["id"], each["version"]) for each in found] == [("s1", 3), ("s0", 2)]
    assert globex.everything("/articles?title=old") == []
    assert [each["id"] for each in globex.everything("/articles?author=ann")] == ["s0"]
    assert globex.good("GET", "/articles/count?live=true")["count"] == 2
    globex.good("POST", "/articles/s2/versions/1/restore")
    served.catch_up()
    assert [each["id"] for each in globex.everything("/articles?title=old")] == ["s2"]


def test_the_newest_manuals_are_whole(served: Served, globex: Client) -> None:
    for number in range(3):
        globex.good("PUT", f"/manuals/n{number}", {**BODY, "text": "first"})
        globex.good("PUT", f"/manuals/n{number}", {**BODY, "text": "second"})
    globex.good("DELETE", "/manuals/n1")
    served.catch_up()
    found = globex.everything("/manuals", 1)
    assert [(each["id"], each["text"], each["version"]) for each in found] == [
        ("n2", "second", 2), ("n0", "second", 2),
    ]  # fmt: skip
