"""Links of the description: from an answer to the requests that follow from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from daicho.web.http.operation import VARIABLE, Operation, list_variables
from daicho.web.http.shared_parameters import CURSOR

NEXT_PAGE = "NextPage"


def add_links(document: Mapping[str, Any], operations: Iterable[Operation]) -> None:
    """Add to each list the link to its next page, and to each created item those to the item."""
    shown = {each.path: each for each in operations if each.method == "GET"}
    for operation in operations:
        described = document["paths"][operation.path][operation.method.lower()]
        for status, response in described["responses"].items():
            links = dict(_list_links(operation, status, shown))
            if links and "$ref" not in response:
                response["links"] = links


def _list_links(
    operation: Operation, status: str, shown: Mapping[str, Operation]
) -> Iterator[tuple[str, dict[str, Any]]]:
    if status == "200" and CURSOR.name in operation.parameters and operation.method == "GET":
        # The parameters of the request, which the next page needs too.
        same = {name: f"$request.path.{name}" for name in list_variables(operation.path)}
        yield (
            NEXT_PAGE,
            {
                "operationId": operation.id,
                "description": "The next page, unless the cursor is null. Repeat the parameters "
                "of the query.",
                "parameters": {**same, CURSOR.name: "$response.body#/cursor"},
            },
        )
    if status == "201":
        item = _find_item(operation, shown)
        if item is not None:
            yield (
                "Item",
                {
                    "operationId": item.id,
                    "description": "The item, whose address is in Location.",
                    "parameters": {
                        name: f"$request.path.{name}"
                        if name in list_variables(operation.path)
                        else f"$response.body#/{name}"
                        for name in (*list_variables(item.path), *_list_required(item))
                    },
                },
            )


def _list_required(item: Operation) -> list[str]:
    """The query parameters of an item, which are fields of its key."""
    return [parameter.name for parameter in item.variants[0].required]


def _find_item(operation: Operation, shown: Mapping[str, Operation]) -> Operation | None:
    """The GET operation of an item that this one creates: on its path, or one variable below.

    None for a path without variables, because its GET shows lists too.
    """
    if operation.method == "PUT":
        return shown.get(operation.path) if list_variables(operation.path) else None
    for path, candidate in shown.items():
        parent, _, last = path.rpartition("/")
        is_below = parent == operation.path and VARIABLE.fullmatch(last)
        if is_below and set(candidate.returns) & set(operation.returns):
            return candidate
    return None
