"""Describes each query of an operation, so that a program can show any domain.

The console is made of this: it knows no entity, only what kinds of queries there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from daicho.web.http.operation import Operation, QueryVariant

EXTENSION = "x-daicho-queries"
"""The extension of an operation: a list with an object for each of its queries."""
_OF_ONE_ITEM = ("get", "replace", "change", "delete")


def add_queries(document: Mapping[str, Any], served: Sequence[Operation]) -> None:
    """Add the queries to the description of each operation."""
    entities = {
        operation.path: variant.entity
        for operation in served
        for variant in operation.variants
        if variant.entity and variant.kind in _OF_ONE_ITEM
    }
    for operation in served:
        described = document["paths"][operation.path][operation.method.lower()]
        described[EXTENSION] = [
            _describe_query(operation, variant, entities.get(operation.path))
            for variant in operation.variants
        ]


def _describe_query(
    operation: Operation, variant: QueryVariant, path_entity: str | None
) -> dict[str, Any]:
    """One query. ``path_entity``: the entity of the item at the path, for functions without one."""
    kind: str = variant.kind
    if kind == "custom" and path_entity and operation.method == "DELETE":
        kind = "delete"
    searched = bool(variant.searched)
    some = {"max_items": variant.max_items, "series": variant.series}
    return {
        "kind": kind,
        "name": variant.name,
        "summary": variant.summary,
        "entity": variant.entity or path_entity,
        "required": [parameter.name for parameter in variant.required],
        "optional": [parameter.name for parameter in variant.optional],
        "fixed": {each.name: each.only for each in variant.required if each.only},
        "search_parameter": variant.required[0].name if searched else None,
        "searched": list(variant.searched),
    } | {name: value for name, value in some.items() if value is not None}
