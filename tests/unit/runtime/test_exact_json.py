"""A key that is given twice in one object is found at any depth."""

import json

import pytest

from daicho.runtime.exact_json import RepeatedKeyError, build_object, parse_exactly


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


def test_an_object_keeps_the_order_of_its_keys() -> None:
    text = '{"b":1,"a":{"d":2,"c":3}}'
    assert json.dumps(json.loads(text, object_pairs_hook=build_object)) == json.dumps(
        json.loads(text)
    )
