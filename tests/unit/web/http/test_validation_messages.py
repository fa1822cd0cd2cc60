"""Every kind of error that Pydantic knows, in words for a client."""

from __future__ import annotations

import re
import typing
from typing import Any

import pytest
from pydantic import BaseModel, RootModel, ValidationError
from pydantic_core import PydanticKnownError, core_schema

from daicho.web.http.problems import MAX_MESSAGE, from_validation
from daicho.web.http.validation_messages import MAX_SHOWN, describe_failure

PYTHON = re.compile(
    r"python|dict|tuple|frozen|deque|\bset\b|iterable|hashable|callable|\bclass\b|instance of"
    r"|timedelta|\bbytes?\b|Decimal|Fraction|None|float|regex|pattern|extract|validation|sentinel"
)
"""Words of Python's own."""
OF_PYTHON_CALLS = re.compile(
    "argument|^get_attribute|^no_such|^frozen_|instance$|^needs_python|default_factory|sentinel"
    "|ellipsis|^dataclass_exact|^named_tuple|^json_type|^ordered_dict|^counter_type|^frozen_dict"
    "|datetime_object|iteration"
)
"""Errors that no value of JSON causes."""
KINDS = sorted(
    kind for kind in typing.get_args(core_schema.ErrorType) if not OF_PYTHON_CALLS.search(kind)
)


def make_error(kind: Any) -> PydanticKnownError:
    """An error of a kind, with any context that it needs."""
    context: dict[str, Any] = {}
    for _ in range(10):
        try:
            return PydanticKnownError(kind, context)
        except TypeError as error:  # it names what is missing, or what is to be a text
            (name,) = re.findall(r"'(\w+)'", str(error))
            context[name] = "words" if name in context else 7
    raise AssertionError(f"{kind}: {context}")


@pytest.mark.parametrize("kind", KINDS)
def test_no_kind_of_error_has_words_of_python(kind: str) -> None:
    error = make_error(kind)
    failure = {"type": kind, "msg": error.message(), "ctx": error.context, "input": 5}
    message = describe_failure(failure, {})
    assert not PYTHON.search(message), message
    assert kind in ("missing", "extra_forbidden") or message.endswith("; it is 5")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "null"),
        (True, "true"),
        (2.5, "2.5"),
        (10**4_299, f"1{'0' * (MAX_SHOWN - 1)}… (4300 characters)"),
        ("", '""'),
        ('a"\n', '"a\\"\\n"'),
        ("é" * 61, f'"{"é" * 60}"… (61 characters)'),
    ],
)
def test_a_refused_value_is_shown_in_short(value: object, shown: str) -> None:
    failure = {"type": "enum", "msg": "Input should be x", "input": value}
    assert describe_failure(failure, {}) == f"Input should be x; it is {shown}"
    assert len(shown) < MAX_MESSAGE


@pytest.mark.parametrize("value", [[], {}, [1], {"a": 1}])
def test_an_array_or_an_object_is_not_shown(value: object) -> None:
    failure = {"type": "string_type", "msg": "Input should be a valid string", "input": value}
    assert describe_failure(failure, {}) == failure["msg"]


class Named(BaseModel, extra="forbid"):
    """A body."""

    names: list[str]


def test_what_a_validator_of_a_project_says_has_no_prefix() -> None:
    for said in ("Value error, no vowel", "Assertion failed, no vowel"):
        failure = {"type": "value_error", "msg": said, "input": "x"}
        assert describe_failure(failure, {}) == 'no vowel; it is "x"'


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ("[" * 1_000, "Invalid JSON: too many levels of arrays and objects at line 1 column 202"),
        ("9" * 4_400, "Invalid JSON: a number with too many digits at line 1 column 4302"),
        ('{"names":["a"],"nams":1}', "nams: there is no such field: leave it out"),
        ('{"names":["a",5]}', "names[1]: Input should be a valid string; it is 5"),
    ],
)
def test_a_body_is_refused_in_words(body: str, detail: str) -> None:
    model = RootModel[int] if body[0] == "9" else Named
    with pytest.raises(ValidationError) as caught:
        model.model_validate_json(body)
    assert from_validation(caught.value.errors()).detail == detail
