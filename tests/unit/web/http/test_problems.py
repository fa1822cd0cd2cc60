"""What Pydantic found, in words for a client."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from daicho.web.http.problems import from_validation


class Inner(BaseModel):
    """A model in a model."""

    a: int


class Outer(BaseModel):
    """A body."""

    inner: Inner
    more: dict[str, int] = {}


@pytest.mark.parametrize(
    ("value", "errors"),
    [
        ([], [("body", "Input should be an object")]),
        ({"inner": 5}, [("inner", "Input should be an object; it is 5")]),
        ({"inner": {"a": 1}, "more": []}, [("more", "Input should be an object")]),
        ({"inner": {}}, [("inner.a", "Field required")]),
    ],
)
def test_no_class_is_named(value: Any, errors: list[tuple[str, str]]) -> None:
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate(value)
    problem = from_validation(caught.value.errors())
    assert (problem.status, problem.errors) == (422, errors)
