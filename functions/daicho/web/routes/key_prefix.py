"""``?under=a/b``: the beginning of a key as one parameter, its components between slashes.

Each component is percent-encoded as in a path, so that it may hold a slash (``a%2Fb``), and the
whole is then encoded like any value of a query.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

from daicho.declare.keys import KeyQueries
from daicho.errors import DeclarationError, Refusal, refuse
from daicho.web.http.operation import Parameter

UNDER = "under"
_BROKEN = re.compile(r"%(?![0-9A-Fa-f]{2})")


def build_parameter(names: tuple[str, ...]) -> Parameter:
    """The parameter; ``names`` are the fields that it may give, in order."""
    said = f"{'/'.join(names)}, or the beginning of that; a slash inside is %2F, a percent %25."
    return Parameter(UNDER, str, f"Only what is under {said}")


def split_components(text: str) -> list[str]:
    """The components of what was given.

    Raises:
        Refusal: 422, one is empty or cannot be decoded.
    """
    found = []
    for each in text.split("/"):
        if not each:
            raise _make_refusal("a component is empty")
        if _BROKEN.search(each):
            raise _make_refusal("a percent sign inside a component is written %25")
        try:
            found.append(unquote(each, errors="strict"))
        except UnicodeDecodeError as error:
            raise _make_refusal("a component is not UTF-8") from error
    return found


def name_components(
    query: KeyQueries[Any, *tuple[Any, ...]], names: tuple[str, ...]
) -> tuple[str, ...]:
    """The fields of a key that a path and its query name, which must be its first ones.

    Raises:
        DeclarationError: they are others.
    """
    keys = tuple(spec.name for spec in query.declaration.parts)
    found = tuple(name for name in keys if name in names)
    if found != keys[: len(found)]:
        raise DeclarationError(f"{query.declaration} begins with {keys[0]}, not {found[0]}")
    if UNDER not in names and len(found) < query.declaration.partition:
        raise DeclarationError(f"{query.declaration} is asked under {keys[len(found)]} too")
    return found


def check_query(query: Any, parts: list[Any]) -> list[Any]:
    """The parts, if the key that is asked begins with so many.

    Raises:
        Refusal: 422, they are too few or too many.
    """
    declared = query.declaration
    names = [spec.name for spec in declared.parts]
    if len(parts) < declared.partition:
        raise _make_refusal(f"at least {'/'.join(names[: declared.partition])}")
    if len(parts) > len(names):
        raise _make_refusal(f"at most {'/'.join(names)}")
    return parts


def _make_refusal(detail: str) -> Refusal:
    return refuse(422, detail, field=UNDER)
