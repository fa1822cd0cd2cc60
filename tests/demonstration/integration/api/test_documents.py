"""Documents over HTTP: whole and in sections, conditions, repeats, and what is refused."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from tests.support.api_client import Client, segment
from tests.support.deployment import Served

SECTIONS: dict[str, Any] = {"summary": "Nothing", "z": {"x": [1, 2.5, None, True]}, "a": []}


def test_a_document_and_its_sections(acme: Client, globex: Client) -> None:
    made = acme("PUT", "/documents/d", {"title": "Report", "sections": SECTIONS})
    assert made.status == 201, made.text
    assert made.headers["Location"] == "/documents/d"
    assert made.headers["ETag"] == '"1"'
    assert "sections" not in made.json  # it is the caller's own, and may be 5 MB
    whole = acme("GET", "/documents/d")
    assert whole.headers["ETag"] == '"1"'
    assert whole.json["sections"] == SECTIONS
    assert list(whole.json["sections"]) == list(SECTIONS)
    section = acme("GET", "/documents/d/z")
    assert (section.status, section.json) == (200, SECTIONS["z"])
    assert section.headers["ETag"] == '"1"'
    changed = acme("PUT", "/documents/d/z", ["changed"])
    assert (changed.status, changed.json, changed.headers["ETag"]) == (200, ["changed"], '"2"')
    added = acme("PUT", f"/documents/d/{segment('new #1 台')}", {"n": 1})
    assert added.status == 201
    assert acme.good("GET", added.headers["Location"]) == {"n": 1}
    assert acme("DELETE", "/documents/d/a").status == 204
    assert acme("DELETE", "/documents/d/a").status == 404
    found = acme.good("GET", "/documents/d")
    assert (found["title"], found["version"]) == ("Report", 4)
    assert found["sections"] == {"summary": "Nothing", "z": ["changed"], "new #1 台": {"n": 1}}
    assert acme.good("GET", "/documents/d?fields=title") == {"title": "Report"}
    for url in ("/documents/d", "/documents/d/z"):
        assert globex("GET", url).status == 404
    assert globex("PUT", "/documents/d/z", 1).status == 404
    assert acme("DELETE", "/documents/d").status == 204
    for method, url in (
        ("GET", "/documents/d/z"),
        ("GET", "/documents/d"),
        ("DELETE", "/documents/d"),
    ):
        assert acme(method, url).status == 404
    assert acme("PUT", "/documents/d/z", 1).status == 404


@pytest.mark.parametrize("value", [None, True, 0, -0.5, "", "text", [], {}, [{"a": None}]])
def test_a_section_is_any_value(acme: Client, value: Any) -> None:
    acme.good("PUT", "/documents/any", {"sections": {"first": value}})
    answer = acme("PUT", "/documents/any/second", raw=json.dumps(value))
    assert answer.status == 201, answer.text
    for name in ("first", "second"):
        assert acme("GET", f"/documents/any/{name}").json == value


def test_conditions(acme: Client) -> None:
    acme.good("PUT", "/documents/c", {"sections": SECTIONS}, If_None_Match="*")
    assert acme("PUT", "/documents/c", {"sections": {}}, If_None_Match="*").status == 412
    assert acme("PUT", "/documents/c/z", 1, If_Match='"9"').status == 412
    assert acme("PUT", "/documents/c/z", 1, If_Match='"1", "5"').status == 200
    assert acme("PUT", "/documents/c/never", 1, If_Match="*").status == 412
    assert acme("PUT", "/documents/c", {"sections": {}}, If_Match='"1"').status == 412
    assert acme("DELETE", "/documents/c/z", If_Match='"1"').status == 412
    assert acme("DELETE", "/documents/c", If_Match='"1"').status == 412
    assert acme("GET", "/documents/c/z", If_None_Match='"2"').status == 304
    assert acme("GET", "/documents/c", If_None_Match='"2"').status == 304
    assert acme("GET", "/documents/c/z", If_None_Match='"1"').status == 200
    assert acme("PATCH", "/documents/c", {"title": "New"}, If_Match='"2"').json["title"] == "New"
    assert acme("GET", "/documents/c/z", If_None_Match='"2"').status == 304  # it is as it was
    assert acme("DELETE", "/documents/c", If_Match='"3"').status == 204


def test_a_repeat_under_a_key_does_nothing_twice(acme: Client, served: Served) -> None:
    body = {"title": "Once", "sections": SECTIONS}
    made = [acme("POST", "/documents", body, Idempotency_Key="doc-1") for _ in range(2)]
    assert [each.status for each in made] == [201, 201]
    assert made[0].json == made[1].json
    url = made[0].headers["Location"]
    for _ in range(2):
        changed = acme("PUT", f"{url}/z", "once", Idempotency_Key="doc-2")
        assert (changed.status, changed.headers["ETag"]) == (200, '"2"')
    assert acme("PUT", f"{url}/z", "twice", Idempotency_Key="doc-2").status == 422
    for _ in range(2):
        put = acme("PUT", url, {"sections": {"only": 1}}, Idempotency_Key="doc-3")
        assert (put.status, put.headers["ETag"]) == (200, '"3"')
    for _ in range(2):
        assert acme("DELETE", f"{url}/only", Idempotency_Key="doc-4").status == 204
    assert acme.good("GET", url)["sections"] == {}
    for _ in range(2):
        assert acme("DELETE", url, Idempotency_Key="doc-5").status == 204
    assert acme("GET", url).status == 404


def test_a_repeat_shows_a_section_however_large_it_is(acme: Client) -> None:
    noise = random.Random(1)
    value = {"text": "".join(chr(noise.randrange(0x20, 0x7F)) for _ in range(600_000))}
    acme.good("PUT", "/documents/noise", {"sections": {}})
    first, again = (
        acme("PUT", "/documents/noise/s", value, Idempotency_Key="noise") for _ in range(2)
    )
    assert (first.status, first.json) == (201, value)
    assert (again.status, again.text, again.headers) == (201, first.text, first.headers)


def test_a_document_larger_than_an_item_and_one_too_large(acme: Client) -> None:
    sections = {f"part {n}": "ü" * 400_000 for n in range(5)}
    acme.good("PUT", "/documents/large", {"sections": sections})
    assert acme.good("GET", "/documents/large")["sections"] == sections
    assert acme.good("PUT", "/documents/large/x", 1) == 1
    too_much = acme("PUT", "/documents/large", {"sections": {"s": "x" * 5_600_000}})
    assert too_much.status == 413
    assert acme("PUT", "/documents/large/y", "x" * 5_600_000).status == 413
    for answer in (
        acme("PUT", "/documents/large", {"sections": {"s": '"' * 1_700_000}}),
        acme("PUT", "/documents/large/y", "x" * 1_200_000),
    ):
        assert (answer.status, answer.fields) == (422, {"sections"})
    assert set(acme.good("GET", "/documents/large")["sections"]) == {*sections, "x"}
    acme.good("DELETE", "/documents/large")


def test_documents_are_found_by_their_title_and_listed_without_sections(
    acme: Client, served: Served
) -> None:
    acme.good("PUT", "/documents/t1", {"title": "Quarterly report", "sections": SECTIONS})
    acme.good("PUT", "/documents/t1/z", "changed")
    served.catch_up()
    (found,) = acme.everything("/documents?title=quart")
    assert (found["id"], found["version"]) == ("t1", 2)
    assert "sections" not in found
    acme.good("DELETE", "/documents/t1")
    served.catch_up()
    assert acme.everything("/documents?title=quart") == []


@pytest.mark.parametrize(
    ("method", "url", "body", "status", "field"),
    [
        ("PUT", "/documents/b", {"title": "no sections"}, 422, "sections"),
        ("PUT", "/documents/b", {"sections": []}, 422, "sections"),
        ("PUT", "/documents/b", {"sections": {"": 1}}, 422, "sections"),
        ("PUT", "/documents/b", {"sections": {"n" * 256: 1}}, 422, "sections"),
        ("PUT", "/documents/b", {"sections": {"a": 1, "a/b": 1}}, 422, "sections"),
        ("POST", "/documents", {"sections": {"/": 1}}, 422, "sections"),
        ("POST", "/documents", {"sections": {"..": 1}}, 422, "sections"),
        ("PUT", "/documents/b", {"sections": {}, "more": 1}, 422, "more"),
        ("PUT", f"/documents/b/{'n' * 256}", 1, 422, "section"),
        ("GET", f"/documents/b/{'n' * 256}", None, 422, "section"),
        ("DELETE", f"/documents/b/{'n' * 2000}", None, 422, "section"),
        ("PATCH", "/documents/b", {"sections": {}}, 422, "sections"),
        ("GET", "/documents/b?fields=sections", None, 422, "fields"),
        ("GET", "/documents/b/x?fields=title", None, 400, "fields"),
    ],
)
def test_what_is_refused(
    acme: Client, method: str, url: str, body: Any, status: int, field: str
) -> None:
    answer = acme(method, url, body)
    assert answer.status == status, answer.text
    assert field in answer.fields


@pytest.mark.parametrize(
    "raw",
    ['{"sections": {"a": 1e999}}', '{"sections": {"a": NaN}}', '{"sections": {"a": "\\ud800"}}'],
)
def test_what_is_no_json_value_is_refused(acme: Client, raw: str) -> None:
    answer = acme("PUT", "/documents/b", raw=raw)
    assert answer.status in (400, 422), answer.text
    inner = raw.removeprefix('{"sections": {"a": ').removesuffix("}}")
    acme.good("PUT", "/documents/ok", {"sections": {}})
    answer = acme("PUT", "/documents/ok/a", raw=inner)
    assert answer.status in (400, 422), answer.text
