"""A repeated key and an inexact number are found at any depth."""

from typing import Any

import pytest

from daicho.runtime.exact_json import (
    InexactNumberError,
    RepeatedKeyError,
    mark_number,
    parse_exactly,
)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('{"a":1,"a":1}', "a"),
        ('{"a":1,"\\u0061":2}', "a"),
        ('{"b":{"c":[{"d":1},{"e":1,"f":2,"e":3}]}}', "e"),
        ('[{"":1,"":2}]', ""),
        (' {"a":1,"b":2,"a":3}', "a"),
        ('{"a":{"b":1,"b":2},"a":3}', "b"),
        ('{"a":' + "9" * 10_000 + ',"a":1}', "a"),
    ],
)
def test_a_repeated_key_is_refused(text: str, key: str) -> None:
    with pytest.raises(RepeatedKeyError) as caught:
        parse_exactly(text)
    assert caught.value.key == key
    assert repr(key) in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        '{"a":{"a":{"a":1}},"A":2}',
        '[{"a":1},{"a":2}]',
        '{"é":1,"e\\u0301":2}',
        "9" * 10_000,
        "null",
        *("", "{", '{"a":', "[" * 100_000, "{'a':1}", "NaN"),
    ],
)
def test_other_text_passes_also_if_it_is_no_json(text: str) -> None:
    parse_exactly(text)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("0.30000000000000001", ()),
        ('{"a":[1,{"b":1e400}]}', ("a", 1, "b")),
        ("[0.1,0.30000000000000001,1e400]", (1,)),
        ('{"a":1E-400,"a":2}', ()),
        ("[" * 900 + "1e400", ()),
    ],
)
def test_the_first_inexact_number_is_refused_with_its_path(text: str, path: Any) -> None:
    with pytest.raises(InexactNumberError, match="send fewer digits") as caught:
        parse_exactly(text)
    assert caught.value.path == path


@pytest.mark.parametrize(
    "text", ["0.1", "1.50", "-0.0", "1E2", "5e-324", "0.30000000000000004", "1e22", "0e5"]
)
def test_a_number_that_is_a_float_is_one(text: str) -> None:
    assert mark_number(text) == float(text)
    assert parse_exactly(text) == float(text)
