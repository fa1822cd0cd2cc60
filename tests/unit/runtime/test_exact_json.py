"""A repeated key and an inexact number are found at any depth."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daicho.runtime import exact_json
from daicho.runtime.exact_json import (
    InexactNumberError,
    RepeatedKeyError,
    count_values,
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


JSON = st.recursive(
    st.text('a,{["\\') | st.integers(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text('b,{["\\'), inner),
)


def count_parsed(value: Any) -> int:
    """Opening brackets, and a comma between each two members or elements."""
    members = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(members, list):
        return 0
    return max(len(members), 1) + sum(map(count_parsed, members))


@given(JSON)
def test_members_are_counted_without_those_in_texts(value: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact_json, "MIN_COUNTED_VALUES", 0)
        for ensure_ascii in (True, False):
            assert count_values(json.dumps(value, ensure_ascii=ensure_ascii)) == count_parsed(value)


def test_a_long_text_full_of_commas_has_no_members() -> None:
    assert count_values(json.dumps({"note": ',"' * 10_000})) == 1
