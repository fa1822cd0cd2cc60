"""``?fields=``: the fields of an item that a request selects."""

from __future__ import annotations

from functools import cache

from daicho.declare.entity import Entity
from daicho.items.projection import list_field_names
from daicho.web.http.operation import Call, Parameter
from daicho.web.schema.text_forms import build_names_type

FIELDS = "fields"
DESCRIPTION = "Show only these fields, separated by commas."


@cache
def build_parameter(entity: type[Entity]) -> Parameter:
    """The parameter that names fields of an entity; 422 for one that it does not have."""
    names = list_field_names(entity)
    description = f"{DESCRIPTION} Fields: {', '.join(names)}."
    return Parameter(FIELDS, build_names_type(names, "field"), description)


def selected_fields(call: Call) -> tuple[str, ...]:
    """The fields that a request names, without repetition; none if it selects all fields."""
    text: str | None = call.values.get(FIELDS)
    return tuple(dict.fromkeys(text.split(","))) if text else ()
