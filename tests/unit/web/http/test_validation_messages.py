"""Every kind of error that Pydantic knows, in words for a client."""

from __future__ import annotations

import re
import typing
from typing import Any

import pytest
from pydantic import BaseModel, RootModel, ValidationError
from pydantic_core import PydanticKnownError, core_schema

from daicho.web.http.problems import from_validation
from daicho.web.http.validation_messages import describe_failure

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


class Named(BaseModel, extra="forbid"):
    """A body."""

    names: list[str]


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
