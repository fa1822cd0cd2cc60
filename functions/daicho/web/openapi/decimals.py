"""Marks the text of decimals in schemas of a project's own models, which Pydantic shows as text."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BaseModel

from daicho.items.json_pairs import DECIMAL_TEXT

FORMAT = "decimal"
WRITTEN = "Input"
"""The end of the name of a schema for bodies, if there is one for answers too."""
PATTERN = f"^{DECIMAL_TEXT.pattern}$".replace(r"\d", "[0-9]")


def mark_decimals(schemas: Mapping[str, Any], models: Iterable[type[BaseModel]]) -> None:
    """Give the text of each decimal in the schemas of these models, and in theirs, its form."""
    waiting, visited = [*models], set[Any]()
    while waiting:
        model = waiting.pop()
        if model in visited:
            continue
        visited.add(model)
        names = (model.__name__, f"{model.__name__}{WRITTEN}")
        shown, written = (schemas.get(name, {}).get("properties", {}) for name in names)
        for name, field in model.model_fields.items():
            _mark(shown.get(name, {}), field.annotation)
            _mark(written.get(name, {}), field.annotation)
            waiting += _list_models(field.annotation)


def _mark(schema: dict[str, Any], annotation: Any) -> None:
    if typing.get_origin(annotation) is Annotated:
        annotation = typing.get_args(annotation)[0]
    inner = [each for each in typing.get_args(annotation) if each is not type(None)]
    if annotation is Decimal and schema.get("type") == "string":
        schema |= {"pattern": PATTERN, "format": FORMAT}
    elif "anyOf" in schema:
        options = [option for option in schema["anyOf"] if option.get("type") != "null"]
        if annotation is Decimal:
            inner = [Decimal] * len(options)
        for option, member in zip(options, inner, strict=False):
            _mark(option, member)
    elif inner:
        for keyword in ("items", "additionalProperties"):
            if isinstance(schema.get(keyword), dict):
                _mark(schema[keyword], inner[-1])


def _list_models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for member in typing.get_args(annotation):
        yield from _list_models(member)
