"""Values that are shown with the rows of an entity's lists, on every path that lists them.

A domain's function gives one value for each item of a page: always, or when a request names it in
``include=``.
"""

from __future__ import annotations

import json
import typing
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

from pydantic import BaseModel, Field, TypeAdapter, create_model

from daicho.declare.domain import Include
from daicho.declare.entity import Entity
from daicho.errors import DeclarationError
from daicho.items.json_pairs import dump_plainly
from daicho.web.http import item_json, responses
from daicho.web.http.operation import Answerer, Call, Operation, Parameter, QueryVariant, Reply
from daicho.web.schema import models
from daicho.web.schema.model_refs import ModelRef
from daicho.web.schema.text_forms import build_names_type

INCLUDE = "include"


class Includes:
    """All values that are shown with the rows of one entity."""

    def __init__(self, entity: type[Entity], includes: Sequence[Include]) -> None:
        self.entity, self.includes = entity, includes
        for include in includes:
            _find_value_type(include)  # a wrong annotation is refused at once
        self._page = models.refer_to_page(ModelRef(_build_row_model, (entity, *includes)))
        self._include = _build_include_parameter(
            [include.name for include in includes if include.optional]
        )

    @cached_property
    def _adapters(self) -> Mapping[str, TypeAdapter[Any] | None]:
        return {include.name: _make_adapter(include) for include in self.includes}

    def show(self, operation: Operation) -> None:
        """Let every query of the operation that lists the entity show them."""
        listed = models.refer_to_page(models.refer_to_item(self.entity))
        operation.variants = [
            self._show_all(variant) if variant.returns == listed else variant
            for variant in operation.variants
        ]

    def _show_all(self, variant: QueryVariant) -> QueryVariant:
        return replace(
            variant,
            answer=partial(self._answer, variant.answer),
            returns=self._page,
            optional=(*variant.optional, *self._include),
        )

    def _answer(self, answer_list: Answerer, call: Call) -> Reply:
        """Answer with a page of which each row has the included values too."""
        reply = answer_list(call)
        items, cursor = reply.page
        if not items:
            return reply
        items = list(items)
        requested = (call.values.get(INCLUDE) or "").split(",")
        columns = [
            (include.name, include.function(call.book, items))
            for include in self.includes
            if not include.optional or include.name in requested
        ]
        rows = []
        for place, row in enumerate(reply.rows):
            members = "".join(
                f",{json.dumps(name)}:{self._render_text(name, values[place])}"
                for name, values in columns
            )
            rows.append(f"{row[:-1]}{members}}}")
        return responses.render_list(rows, cursor, unreadable=reply.unreadable)

    def _render_text(self, name: str, value: Any) -> str:
        adapter = self._adapters[name]
        if adapter is None:
            return f"[{','.join(map(item_json.render_item, value))}]"
        return dump_plainly(adapter, value)


def _build_row_model(entity: type[Entity], *includes: Include) -> type[BaseModel]:
    """The model of a row: a shown item with the included values."""
    fields: dict[str, Any] = {}
    for include in includes:
        annotation = _find_value_type(include)
        shown_entity = _find_entity(annotation)
        if shown_entity is not None:
            annotation = list[models.build_item_model(shown_entity)]  # type: ignore[misc]
        fields[include.name] = (
            (annotation, Field(default=None)) if include.optional else (annotation, ...)
        )
    item_model = models.build_item_model(entity)
    model: type[BaseModel] = create_model(
        f"{entity.__name__}Row", __base__=item_model, __doc__=item_model.__doc__, **fields
    )
    return model


def _build_include_parameter(names: Sequence[str]) -> tuple[Parameter, ...]:
    if not names:
        return ()
    description = f"Values to add to each item, separated by commas: {', '.join(names)}."
    return (Parameter(INCLUDE, build_names_type(names, "value"), description),)


def _find_value_type(include: Include) -> Any:
    """The type of one item's value: of ``list[X]``, X."""
    hints = typing.get_type_hints(include.function, include_extras=True)
    (inner,) = typing.get_args(hints.get("return")) or (None,)
    if inner is None:
        raise DeclarationError(
            f"{include.name} gives no list of what stands beside each item; "
            "annotate what it returns: -> list[Call]"
        )
    return inner


def _find_entity(value_type: Any) -> type[Entity] | None:
    """The entity of ``list[Entity]``, or None."""
    (inner, *_) = typing.get_args(value_type) or (None,)
    return inner if isinstance(inner, type) and issubclass(inner, Entity) else None


def _make_adapter(include: Include) -> TypeAdapter[Any] | None:
    """The adapter that writes the values as JSON; None for lists of items."""
    value_type = _find_value_type(include)
    return None if _find_entity(value_type) else TypeAdapter(value_type)
