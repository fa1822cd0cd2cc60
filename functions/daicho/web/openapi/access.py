"""Describes what a caller needs for an operation: roles, and the owners of items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daicho.declare.rules.roles import OWNER
from daicho.web.http.operation import Operation, QueryVariant

ROLES_EXTENSION, ACCESS_EXTENSION = "x-daicho-roles", "x-daicho-access"
"""Extensions of an operation: the roles of which a request needs one, and who may read or write the
items: `owner` and roles. If the queries of an operation differ, they are by query."""


def describe_access(described: dict[str, Any], operation: Operation, scheme: str) -> None:
    """Add the roles and the owners to the description of an operation.

    ``scheme``: the name of the security scheme, which has the roles that every request needs.
    """
    variants, verb = operation.variants, "read" if operation.method == "GET" else "written"
    if len({variant.roles for variant in variants}) == 1 and operation.roles:
        described["security"] = [{scheme: [role]} for role in operation.roles]
    lines: list[str] = []
    for extension, values, render in (
        (ROLES_EXTENSION, [variant.roles for variant in variants], _render_roles),
        (ACCESS_EXTENSION, [variant.access for variant in variants], _render_access),
    ):
        if not any(values):
            continue
        named = {_name_query(each): names for each, names in zip(variants, values, strict=True)}
        if len(set(values)) == 1:
            described[extension] = list(values[0])
            lines.append(f"{render(values[0], verb)}.")
            continue
        described[extension] = {query: list(names) for query, names in named.items() if names}
        lines += [f"{_quote(q)}: {render(names, verb)}." for q, names in named.items() if names]
    if lines:
        earlier = described.get("description")
        described["description"] = "\n\n".join([*([earlier] if earlier else []), *lines])


def _name_query(variant: QueryVariant) -> str:
    """The parameters that select a query; empty for the one without parameters."""
    return str(variant) if variant.needed else ""


def _quote(query: str) -> str:
    return f"`{query}`" if query else "Without these parameters"


def _render_roles(roles: Sequence[str], _verb: str) -> str:
    names = ", ".join(f"`{role}`" for role in roles)
    return f"Requires the role {names}" if len(roles) == 1 else f"Requires one of the roles {names}"


def _render_access(names: Sequence[str], verb: str) -> str:
    readers = ["their owners" if each == OWNER else f"the role `{each}`" for each in names]
    return f"Items are {verb} only by {' or '.join(readers)}"
