"""The OpenAPI document as the generators of clients read it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from daicho.web.http import field_selection


def prepare_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of the document for the generators.

    - It has no parameter ``fields``: the type of an answer cannot depend on the value of a
      parameter, and an answer without a field is an error to a typed client.
    - It has no examples of whole bodies: they would be half of the generated text.
    - An answer of two media types has both types in each: a generator reads the first one only, and
      429 is a problem document of the API or a message of the gateway.
    """
    prepared = copy.deepcopy(dict(document))
    for path in prepared["paths"].values():
        for operation in path.values():
            _select_parameters(operation)
            for message in (operation.get("requestBody", {}), *operation["responses"].values()):
                for content in message.get("content", {}).values():
                    content.pop("example", None)
    for response in prepared.get("components", {}).get("responses", {}).values():
        _join_contents(response.get("content", {}))
    return prepared


def _join_contents(contents: Mapping[str, dict[str, Any]]) -> None:
    schemas = [content["schema"] for content in contents.values()]
    for content in contents.values():
        if len(schemas) > 1:
            content["schema"] = {"anyOf": schemas}


def _select_parameters(operation: dict[str, Any]) -> None:
    parameters = operation.get("parameters", [])
    operation["parameters"] = [
        parameter for parameter in parameters if not _selects_fields(parameter)
    ]


def _selects_fields(parameter: Mapping[str, Any]) -> bool:
    """Whether it is the library's parameter, not one of that name in a domain."""
    description = str(parameter.get("description", ""))
    return parameter["name"] == field_selection.FIELDS and description.startswith(
        field_selection.DESCRIPTION
    )
