"""Values of sections: as their field declares them, and as the JSON that is stored.

Sections are stored as JSON text, in which a decimal is text. So it keeps its scale.
"""

from __future__ import annotations

import typing
from functools import cache
from typing import Any

from pydantic import JsonValue, TypeAdapter, ValidationError

from daicho.declare.entity import Entity
from daicho.declare.rules.declared_places import list_declared_places
from daicho.declare.split import require_split_field
from daicho.errors import Invalid
from daicho.items.json_pairs import replace_exponents
from daicho.storage.scales import NO_PLACES, restore_scales

_JSON: TypeAdapter[Any] = TypeAdapter(Any)


def dump_section(entity: type[Entity], value: Any) -> Any:
    """A section's value as plain JSON values.

    Raises:
        Invalid: the field's declaration does not admit it.
    """
    adapter = _make_adapter(entity)
    if adapter is None:
        return value
    name = require_split_field(entity).name
    try:
        plain = adapter.dump_python(adapter.validate_python(value))
    except ValidationError as error:
        raise Invalid(error.errors()[0]["msg"], field=name) from error
    declared = list_declared_places(entity).get(name, NO_PLACES).each or NO_PLACES
    padded = restore_scales({name: plain}, {}, {name: declared})
    return render_section(padded[name])


def read_section(entity: type[Entity], plain: Any) -> Any:
    """The value of a stored section.

    A value that the declaration does not admit any more is shown as it is stored.
    """
    adapter = _make_adapter(entity)
    if adapter is None:
        return plain
    try:
        return adapter.validate_python(plain)
    except ValidationError:
        return plain


def render_section(value: Any) -> Any:
    """A section's value that was read, as plain JSON values for an answer."""
    return replace_exponents(value, _JSON.dump_python(value, mode="json"))


@cache
def _make_adapter(entity: type[Entity]) -> TypeAdapter[Any] | None:
    """What validates and dumps the sections of an entity; None for sections of any JSON."""
    _, annotation = typing.get_args(require_split_field(entity).annotation)
    return None if annotation is JsonValue or annotation is Any else TypeAdapter(annotation)
