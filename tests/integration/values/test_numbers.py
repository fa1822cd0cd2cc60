"""A number is stored as it was sent, or refused with its field, its value and what to send."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from daicho.web.openapi.document import describe_api
from tests.support.api_client import Answer, Client
from tests.support.catalogue_domains.products import domain
from tests.support.memory_served import MemoryServed, serve_in_memory

PYTHON = (
    "instance of",
    "could not convert",
    "Decimal",
    "Traceback",
    "ValueError",
    "out of range",
    "regular expression",
)
ROUNDED = (
    "0.30000000000000001",
    "0.1234567890123456789",
    "12345678901234567.89",
    "9007199254740993.0",
    "1e400",
    "-1e400",
    "1e-400",
    "4.9e-324",
    "1.00000000000000000001",
    "1E-99999999999999999999",
    "0." + "1" * 5_000,
)
WRONG_TEXTS = (
    *("+1", "1_000", "١٢", " 1 ", "1 ", "\t1", "1,000", "1.", ".5", "0x10", "NaN", "Infinity"),
    *("-Infinity", "sNaN", "", "--1", "1e", "007", "１２", "1\u00a0000", "½", "1e9999", "−1"),
)
PLACES = (
    ("PUT", "/products/p", '{"price":%s}', "price"),
    ("PUT", "/products/p", '{"cost":%s}', "cost"),
    ("PUT", "/products/p", '{"prices":{"eu":%s}}', "prices.eu"),
    ("PUT", "/products/p", '{"lines":[{"price":1},{"price":%s}]}', "lines[1].price"),
    ("PUT", "/products/p", '{"lines":[{"price":1,"weights":[2,%s]}]}', "lines[0].weights[1]"),
    ("PUT", "/products/p", '{"lines":[{"price":1,"more":{"x":%s}}]}', "lines[0].more.x"),
    ("POST", "/products", '{"id":"q","price":%s}', "price"),
    ("PATCH", "/products/p", '{"price":%s}', "price"),
    ("PUT", "/folders/f", '{"lines":{"a":{"price":%s}}}', "lines.a.price"),
    ("PUT", "/folders/f/a", '{"price":%s}', "price"),
    ("POST", "/offers", '{"price":%s}', "price"),
    ("POST", "/offers", '{"price":1,"choices":[%s]}', "choices[0]"),
    ("POST", "/offers", '{"price":1,"lines":[{"price":%s}]}', "lines[0].price"),
)
"""Where a decimal is written: a method, a path, a body and the name of the value."""
JSON_PLACES = (
    ("PUT", "/products/p", '{"note":%s}', "note"),
    ("PUT", "/products/p", '{"note":{"a":[1,{"b":%s}]}}', "note.a[1].b"),
    ("PUT", "/products/p", '{"ratio":%s}', "ratio"),
    ("PUT", "/products/p", '{"lines":[{"price":1,"share":%s}]}', "lines[0].share"),
    ("PUT", "/sheets/s", '{"sections":{"x":{"y":%s}}}', "sections.x.y"),
    ("PUT", "/sheets/s/x", '{"y":%s}', "y"),
    ("PUT", "/sheets/s/x", "%s", "body"),
)


def assert_refused(answer: Answer, field: str, value: str) -> None:
    assert answer.status == 422, (answer.request, answer.text)
    assert answer.fields == {field}, answer.text
    shown = json.loads(answer.text)["errors"][0]["message"]
    assert value[:90] in shown, answer.text
    assert not any(word in answer.text for word in PYTHON), answer.text


@pytest.fixture(autouse=True)
def stored(client: Client) -> None:
    client.good("PUT", "/products/p", {"name": "kept"})
    client.good("PUT", "/sheets/s", {"sections": {"kept": 1}})
    client.good("PUT", "/folders/f", {"lines": {}})


@pytest.mark.parametrize(("method", "path", "body", "field"), [*PLACES, *JSON_PLACES])
def test_a_number_that_would_be_rounded_is_refused(
    client: Client, method: str, path: str, body: str, field: str
) -> None:
    for number in ROUNDED:
        assert_refused(client(method, path, raw=body % number), field, number)
    assert client.good("GET", "/products/p")["name"] == "kept"


@pytest.mark.parametrize(("method", "path", "body", "field"), PLACES)
def test_text_that_is_a_number_for_python_only_is_refused(
    client: Client, method: str, path: str, body: str, field: str
) -> None:
    for text in WRONG_TEXTS:
        quoted = json.dumps(text, ensure_ascii=False)
        assert_refused(client(method, path, raw=body % quoted), field, quoted)


NUMBERS = st.one_of(
    st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**9)).map(str),
    st.builds(
        lambda sign, whole, part, exponent: f"{sign}{whole}{part}{exponent}",
        st.sampled_from(["", "-"]),
        st.one_of(st.integers(0, 10**20), st.sampled_from([0, 1, 2**53 + 1, 10**16])),
        st.one_of(st.just(""), st.text("0123456789", min_size=1, max_size=25).map(".{}".format)),
        st.sampled_from(["", "e0", "E2", "e-5", "e+10", "e300", "E-300", "e-330"]),
    ),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
)


@pytest.fixture(scope="module")
def one() -> Client:
    return serve_in_memory(domain).client


@settings(max_examples=200, deadline=None)
@given(
    NUMBERS,
    st.sampled_from(
        [
            ("/products/p", '{"price":%s}', "price"),
            ("/products/p", '{"note":[%s]}', "note", 0),
            ("/products/p", '{"note":{"a":{"b":%s}}}', "note", "a", "b"),
            ("/products/p", '{"lines":[{"price":%s}]}', "lines", 0, "price"),
            ("/products/p", '{"prices":{"x":%s}}', "prices", "x"),
            ("/sheets/s", '{"sections":{"x":[%s]}}', "sections", "x", 0),
            ("/folders/f", '{"lines":{"a":{"price":%s}}}', "lines", "a", "price"),
        ]
    ),
)
@example("0.1234567890123456789", ("/sheets/s", '{"sections":{"x":[%s]}}', "sections", "x", 0))
@example("1e-7", ("/products/p", '{"lines":[{"price":%s}]}', "lines", 0, "price"))
def test_a_number_is_answered_as_it_was_sent_or_refused(
    one: Client, number: str, place: tuple[Any, ...]
) -> None:
    path, body, *way = place
    answer = one("PUT", path, raw=body % number)
    assert answer.status in (200, 201, 422), answer.text
    if answer.status == 422:
        assert answer.fields
        assert not any(word in answer.text for word in PYTHON)
        return
    shown: Any = json.loads(one("GET", path).text, parse_float=Decimal)
    for step in way:
        shown = shown[step]
    assert Decimal(shown) == Decimal(number)
    assert not (isinstance(shown, str) and "E" in shown.upper())


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("0.0000001", "0.0000001"),
        ("1e-7", "0.0000001"),
        ("1E3", "1000"),
        ("-0.00000010", "-0.00000010"),
        ("7.10", "7.10"),
        ("1e-9", "0.000000001"),
        ("0E-8", "0.00000000"),
    ],
)
def test_decimals_are_answered_in_plain_notation(
    served: MemoryServed, client: Client, sent: str, shown: str
) -> None:
    body = {"price": sent, "prices": {"x": sent}, "lines": [{"price": sent, "more": {"y": sent}}]}
    for answer in (
        client.good("PUT", "/products/p", {**body, "name": "n"}),
        client.good("GET", "/products/p"),
        client.good("GET", "/products/p?fields=price,prices,lines"),
    ):
        assert answer["price"] == answer["prices"]["x"] == shown
        assert answer["lines"][0]["price"] == answer["lines"][0]["more"]["y"] == shown
    served.deployment.catch_up()
    listed = client.good("GET", "/products?name=n")["items"]
    assert [item["lines"][0]["price"] for item in listed] == [shown]
    assert "E" not in client.good("GET", "/totals/a")["total"]
    assert client.good("POST", "/offers", {"price": sent.lstrip("-")})["price"] == shown.lstrip("-")
    client.good("PUT", "/folders/f/a", {"price": sent})
    assert client.good("GET", "/folders/f/a")["price"] == shown
    assert client.good("GET", "/folders/f")["lines"]["a"]["price"] == shown
    copy = client.good("POST", "/copies", {"product": "p"})
    assert client.good("GET", f"/copies/{copy['id']}")["price"] == shown


@pytest.mark.parametrize("repeat", ["1", "1.0", "1.00", "1e0", "10E-1"])
def test_a_repeat_with_another_spelling_of_a_number_is_the_same_request(
    client: Client, repeat: str
) -> None:
    first = client("PUT", "/products/once", raw='{"price":1.0,"note":[2]}', Idempotency_Key="k")
    body = f'{{"price":{repeat},"note":[2.0]}}'
    again = client("PUT", "/products/once", raw=body, Idempotency_Key="k")
    assert (again.status, again.text) == (first.status, first.text)
    other = client("PUT", "/products/once", raw='{"price":1.01,"note":[2]}', Idempotency_Key="k")
    assert (other.status, other.fields) == (422, {"Idempotency-Key"})


def test_the_example_of_a_nested_decimal_is_a_number() -> None:
    served = serve_in_memory(domain)
    described = describe_api(served.daicho, served.deployment.ledger)
    line = described["components"]["schemas"]["Line"]
    assert line["examples"][0]["price"] == "12.50"
    assert line["properties"]["more"]["additionalProperties"]["format"] == "decimal"
    for schema in described["components"]["schemas"].values():
        for shown in schema.get("examples", ()):
            assert "Price" not in json.dumps(shown)
