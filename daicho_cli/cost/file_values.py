"""Values of traffic and price files: what is checked, and how a wrong one is described."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Annotated

from pydantic import ConfigDict, Field, ValidationError

Number = Annotated[float, Field(ge=0, strict=True)]
Whole = Annotated[int, Field(ge=0, strict=True)]
TABLE = ConfigDict(extra="forbid")
"""The configuration of a dataclass that is a table of a file."""


def describe_problem(error: ValidationError, keys: Iterable[str] = ()) -> str:
    """The first value that is wrong, missing or unknown. ``keys``: that a table can have."""
    problem = error.errors()[0]
    path = ".".join(map(str, problem["loc"]))
    if problem["type"] != "unexpected_keyword_argument":
        return f"{path}: {problem['msg']}"
    near = get_close_matches(str(problem["loc"][-1]), keys, 1)
    return f"{path} is unknown" + (f"; did you mean {near[0]!r}?" if near else "")
