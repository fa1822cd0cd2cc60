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
    first = f"Only items under {'/'.join(names)}, or its first components."
    return Parameter(UNDER, str, f"{first} Write a slash inside as %2F, a percent sign as %25.")


def split_components(text: str) -> list[str]:
    """The decoded components of a parameter's value.

    Raises:
        Refusal: 422, one is empty or cannot be decoded.
    """
    components = []
    for component in text.split("/"):
        if not component:
            raise _make_refusal("a component is empty")
        if _BROKEN.search(component):
            raise _make_refusal("a percent sign inside a component is written %25")
        try:
            components.append(unquote(component, errors="strict"))
        except UnicodeDecodeError as error:
            raise _make_refusal("a component is not UTF-8") from error
    return components


def name_components(
    query: KeyQueries[Any, *tuple[Any, ...]], names: tuple[str, ...]
) -> tuple[str, ...]:
    """The fields of a key that a path and its query name: they must be its first fields.

    Raises:
        DeclarationError: they are not its first fields, or too few.
    """
    keys = tuple(spec.name for spec in query.declaration.parts)
    fields = tuple(name for name in keys if name in names)
    if fields != keys[: len(fields)]:
        raise DeclarationError(
            f"{query.declaration} begins with {keys[0]}, not {fields[0]}; "
            f"name {keys[0]} in the path or the query too"
        )
    if UNDER not in names and len(fields) < query.declaration.partition:
        raise DeclarationError(
            f"{query.declaration} is asked under {keys[len(fields)]} too; "
            f"add {{{keys[len(fields)]}}} to the path"
        )
    return fields


def check_query(query: Any, parts: list[Any]) -> list[Any]:
    """The parts, if their number is valid for the beginning of the key.

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
