"""Any body has a bounded answer in bounded time, and stores no character that was not sent."""

from __future__ import annotations

import gzip
import json
import time
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from daicho.storage.attributes import MAX_LEVELS
from daicho.testing.aws.dynamodb.attribute_values import InvalidRequestError
from daicho.testing.aws.dynamodb.value_checks import check_value
from tests.support.api_client import Answer, Client
from tests.support.catalogue_domains.products import domain
from tests.support.memory_served import serve_in_memory

MAX_BYTES = 64 * 1024
MAX_SECONDS = 8
"""Of the processor: a busy machine says nothing about a request."""
MANY = 50_000


def assert_bounded(answer: Answer) -> None:
    assert answer.status < 500, answer.text[:500]
    if answer.status >= 400:
        assert len(answer.text.encode()) <= MAX_BYTES
        assert len(answer.json.get("errors", ())) <= 20


@pytest.mark.parametrize(
    ("path", "body", "count"),
    [
        ("/products/p", {"tags": [1] * MANY}, MANY),
        ("/products/p", {str(number): 1 for number in range(MANY)}, MANY),
        ("/products/p", {"prices": {str(number): [] for number in range(MANY)}}, MANY),
        ("/products/p", {"lines": [1] * MANY}, MANY),
        ("/folders/f", {"lines": {str(number): 1 for number in range(MANY)}}, MANY),
        ("/products/p", {"tags": [1] * 21}, 21),
    ],
)
def test_many_errors_are_named_in_part_and_counted(
    client: Client, path: str, body: Any, count: int
) -> None:
    begin = time.process_time()
    answer = client("PUT", path, body)
    assert time.process_time() - begin < MAX_SECONDS
    assert answer.status == 422
    assert_bounded(answer)
    named = answer.json["errors"]
    assert len(named) == 20
    assert f"{count - 20:,} more problems are not named" in answer.json["detail"]
    assert all(problem["field"] and problem["message"] for problem in named)


def test_few_errors_are_all_named(client: Client) -> None:
    answer = client("PUT", "/products/p", {"tags": [1] * 20})
    assert len(answer.json["errors"]) == 20
    assert "not named" not in answer.json["detail"]


def write_long_names(text: str) -> str:
    """A body with 20 unknown fields whose names end with a text."""
    return json.dumps({str(place): 1 for place in range(20)}).replace('":', f'{text}":')


@pytest.mark.parametrize(
    "body",
    [
        '{"%s":1}' % ("n" * 900_000),
        '{"%s":1,"%s":2}' % (("n" * 400_000,) * 2),
        write_long_names("x" * 40_000),
        write_long_names("\\u0001" * 6_000),
        '{"price":"%s"}' % ("9" * 900_000),
        '{"price":%s}' % ("9" * 900_000),
        '{"price":0.%s}' % ("9" * 900_000),
        '{"kind":"%s"}' % ("é" * 400_000),
        '{"at":"%s"}' % ("2" * 900_000),
        '{"note":%s}' % ("[" * 400_000),
        '{"note":%s}' % ('{"a":' * 150_000),
        "[" * 1_000_000,
        '"' * 1_000_000,
        '{"name":"%s"}' % ("\\ud800" * 100),
        "",
        "null",
        "\x00",
    ],
)
def test_a_large_value_has_a_small_refusal(client: Client, body: str) -> None:
    begin = time.process_time()
    answer = client("PUT", "/products/p", raw=body)
    assert time.process_time() - begin < MAX_SECONDS
    assert 400 <= answer.status < 500, answer.text[:300]
    assert_bounded(answer)


def nest(kind: str, depth: int) -> str:
    opening, closing = {"list": ("[", "]"), "object": ('{"a":', "}")}[kind]
    return f"{opening * depth}1{closing * depth}"


@pytest.mark.parametrize("kind", ["list", "object"])
@pytest.mark.parametrize("depth", [*range(28, 40), 100, 199, 200, 201, 250, 500, 1_000, 5_000])
def test_the_depth_of_a_value_is_that_of_dynamodb(client: Client, kind: str, depth: int) -> None:
    body = f'{{"note":{nest(kind, depth)}}}'
    for method, path in (("PUT", "/products/deep"), ("PATCH", "/products/deep")):
        answer = client(method, path, raw=body)
        if depth < MAX_LEVELS:
            assert answer.status < 300, answer.text
        elif depth <= 100:
            assert (answer.status, answer.fields) == (422, {"note"}), answer.text
            assert "32 levels" in answer.text
        else:
            assert answer.status in (400, 422), answer.text
        if depth >= MAX_LEVELS:
            client("PUT", "/products/deep", {})
    section = client("PUT", "/sheets/deep", raw=f'{{"sections":{{"x":{nest(kind, depth)}}}}}')
    assert section.status < 500, section.text
    if section.status < 300:
        assert client.good("GET", "/sheets/deep/x") == json.loads(nest(kind, depth))


def nest_value(kind: str, value: dict[str, Any]) -> dict[str, Any]:
    """An attribute value as the innermost of all levels."""
    for _ in range(MAX_LEVELS - 1):
        value = {"L": [value]} if kind == "L" else {"M": {"a": value}}
    return value


@pytest.mark.parametrize("kind", ["L", "M"])
def test_the_constant_is_what_the_table_accepts(kind: str) -> None:
    value = nest_value(kind, {"S": "x"})
    check_value(value)
    check_value(nest_value(kind, {kind: [] if kind == "L" else {}}))
    with pytest.raises(InvalidRequestError):
        check_value({kind: [value] if kind == "L" else {"a": value}})


NAME = '{"name":"José"}'


@pytest.mark.parametrize(
    ("raw", "headers", "status", "word"),
    [
        (NAME.encode("latin-1"), {}, 400, "UTF-8"),
        (NAME.encode("utf-16"), {}, 400, "UTF-8"),
        (NAME.encode("cp1252"), {}, 400, "UTF-8"),
        ('{"name":"日本"}'.encode("shift-jis"), {}, 400, "UTF-8"),
        (b'{"name":"\xed\xa0\x80"}', {}, 400, "UTF-8"),
        (b'{"name":"\xc0\xaf"}', {}, 400, "UTF-8"),
        (NAME.encode("latin-1").decode("utf-8", "replace"), {}, 400, "UTF-8"),
        (f"\ufeff{NAME}", {}, 400, "byte order mark"),
        (NAME.encode("utf-8-sig"), {}, 400, "byte order mark"),
        (gzip.compress(NAME.encode(), mtime=0), {}, 415, "compressed"),
        (gzip.compress(NAME.encode(), mtime=0), {"Content_Encoding": "gzip"}, 415, "gzip"),
        (gzip.compress(NAME.encode(), mtime=0).decode("utf-8", "replace"), {}, 415, "compressed"),
        (NAME, {"Content_Encoding": "br"}, 415, "br"),
        (NAME, {"Content_Encoding": "deflate"}, 415, "deflate"),
    ],
)
def test_what_is_no_json_in_utf_8_is_refused_in_words(
    client: Client, raw: str | bytes, headers: dict[str, str], status: int, word: str
) -> None:
    answer = client("PUT", "/products/new", raw=raw, **headers)
    assert answer.status == status, answer.text
    assert word in answer.json["detail"]
    assert client("GET", "/products/new").status == 404


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("application/json; charset=utf-8", 201),
        ('application/json; charset="UTF-8"', 201),
        ("application/json;charset=us-ascii", 201),
        ("application/json; charset=iso-8859-1", 415),
        ("application/json; charset=utf-16", 415),
    ],
)
def test_the_charset_of_a_body_is_utf_8(client: Client, kind: str, status: int) -> None:
    answer = client(
        "PUT", f"/products/{kind.partition(';')[2].strip()}", raw=NAME, content_type=kind
    )
    assert answer.status == status, answer.text


def test_the_replacement_character_itself_can_be_sent(client: Client) -> None:
    for name, raw in (
        ("escaped", '{"name":"\\ufffd"}'),
        ("bytes", '{"name":"\ufffd"}'.encode()),
    ):
        assert client("PUT", f"/products/{name}", raw=raw).json["name"] == "\ufffd"


@pytest.fixture(scope="module")
def one() -> Client:
    return serve_in_memory(domain).client


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=12), st.booleans())
@example(b"Jos\xe9", True)
@example(b"\xef\xbf\xbd", True)
def test_a_stored_text_has_only_what_was_sent(one: Client, name: bytes, exact: bool) -> None:
    """``exact``: the gateway passes the bytes on; otherwise it decodes them, as AWS does."""
    body = b'{"name":"' + name + b'"}'
    raw = body if exact else body.decode("utf-8", "replace")
    answer = one("PUT", "/products/text", raw=raw)
    assert answer.status < 500
    if answer.status < 300:
        assert answer.json["name"] == json.loads(body.decode())["name"]
