"""Parameters that many operations take: pages of lists, selected fields, and the owner of items."""

from __future__ import annotations

from functools import cache

from annotated_types import Ge, Le

from daicho.declare.entity import Entity
from daicho.errors import Forbidden
from daicho.items.projection import list_field_names
from daicho.web.http.operation import Call, Parameter
from daicho.web.schema import models
from daicho.web.schema.text_forms import build_names_type
from daicho.web.schema.wire_types import add_limits, to_text_type

MAX_ITEMS = 100
LIMIT = Parameter(
    "limit",
    add_limits(to_text_type(int), [Ge(1), Le(MAX_ITEMS)]),
    "The highest number of items of a page.",
    default=MAX_ITEMS,
)
CURSOR = Parameter("cursor", str, "The cursor of the previous page.")
PAGING = (LIMIT, CURSOR)


FIELDS = "fields"
DESCRIPTION = "Show only these fields, separated by commas."


@cache
def build_fields_parameter(entity: type[Entity]) -> Parameter:
    """The parameter that names fields of an entity; 422 for one that it does not have."""
    names = list_field_names(entity)
    description = f"{DESCRIPTION} Fields: {', '.join(names)}."
    return Parameter(FIELDS, build_names_type(names, "field"), description)


def build_owner_parameter(entity: type[Entity], name: str) -> Parameter:
    """The parameter that names an owner: the caller by default."""
    annotation = models.choose_parameter_type(entity, name)
    return Parameter(name, annotation, "The owner: the subject of your token by default.")


def choose_owner(call: Call, name: str) -> str:
    """The owner that a request names, or the caller.

    Raises:
        Forbidden: the request names none, and its token has no subject.
    """
    given: str | None = call.values.get(name)
    caller = call.book.caller
    subject = given or (caller.subject if caller is not None else "")
    if not subject:
        raise Forbidden(f"the token names no subject: give {name}", field=name)
    return subject
