"""``?fields=``: which fields of an item a request wants to see."""

from __future__ import annotations

from functools import cache
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from daicho.declare.entity import Entity
from daicho.items.projection import list_field_names
from daicho.web.http.operation import Call, Parameter

FIELDS = "fields"


@cache
def build_parameter(entity: type[Entity]) -> Parameter:
    """The parameter that names fields of an entity; 422 for one that it does not have."""
    known = list_field_names(entity)

    def check(text: str) -> str:
        for name in text.split(","):
            if name not in known:
                message = "Unknown field {name}; there are {known}"
                context = {"name": repr(name[:100]), "known": ", ".join(known)}
                raise PydanticCustomError("fields", message, context)
        return text

    annotation = Annotated[str, Field(examples=[known[0]]), AfterValidator(check)]
    said = f"Show only these fields, separated by commas: of {', '.join(known)}."
    return Parameter(FIELDS, annotation, said)


def selected_fields(call: Call) -> tuple[str, ...]:
    """The fields that a request names, each once; none if it wants them all."""
    text: str | None = call.values.get(FIELDS)
    return tuple(dict.fromkeys(text.split(","))) if text else ()
