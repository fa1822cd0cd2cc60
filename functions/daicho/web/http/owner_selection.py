"""The owner of the items that a request names: the caller by default."""

from __future__ import annotations

from daicho.declare.entity import Entity
from daicho.errors import Forbidden
from daicho.web.http.operation import Call, Parameter
from daicho.web.schema import models


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
