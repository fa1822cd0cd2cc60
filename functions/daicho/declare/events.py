"""Events: which changes of an entity's items are published, and with which fields."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from daicho.declare.base import Declaration
from daicho.declare.fields import MISSING, FieldSpec
from daicho.declare.parts import ConditionSpec, check_condition, get_spec
from daicho.errors import DeclarationError
from daicho.plan.events import Change, EventPlan
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage.attributes import to_value

if TYPE_CHECKING:
    from daicho.declare.entity import Entity

T = TypeVar("T")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


@dataclass(frozen=True, eq=False)
class ChangeSpec:
    """What happens to an item, as a condition of an event. ``values``: of one watched field."""

    change: Change
    fields: tuple[FieldSpec, ...] = ()
    values: tuple[Any, ...] = ()


created = ChangeSpec("created")
"""The item did not exist before."""
deleted = ChangeSpec("deleted")
"""The item was deleted by somebody, and did not expire."""


def changed(*fields: Any) -> ChangeSpec:
    """One of the fields has another value than before. The item existed, and still does.

    Raises:
        DeclarationError: it names no field.
    """
    if not fields:
        raise DeclarationError(f"changed{fields} names no field; write changed(Invoice.due)")
    return ChangeSpec("changed", tuple(map(get_spec, fields)))


def became(field: T, *values: T) -> ChangeSpec:
    """The field has one of the values, and had none of them before.

    ``became(Invoice.status, "paid")``. An item that is created with one of them counts.

    Raises:
        DeclarationError: it names no field, or no value.
    """
    spec = get_spec(field)
    if not values or None in values:
        raise DeclarationError(f'became({spec}) names no value: write became({spec}, "paid")')
    return ChangeSpec("became", (spec,), values)


class _Publication(Declaration):
    """What messages of errors call an event."""

    def __init__(self, entity: str, name: str, subscriber: str) -> None:
        self.entity, self.name = entity, name
        self.kind = "subscriber" if subscriber else "event"

    def __str__(self) -> str:
        return f"the {self.kind} {self.name!r} of {self.entity}"


def compile_event(
    entity: type[Entity],
    name: str,
    when: Any,
    fields: Iterable[Any],
    version: int,
    subscriber: str = "",
) -> EventPlan:
    """The plan of an event; ``subscriber``: who gets it, with the fields of the key too.

    Raises:
        DeclarationError: names the event, and what is wrong.
    """
    where = _Publication(entity.__name__, name, subscriber)
    if not _NAME.fullmatch(name):
        raise DeclarationError(
            f'{where}: a name has lower-case letters, digits and _; write name="paid"'
        )
    if type(version) is not int or version < 1:
        raise DeclarationError(
            f"{where}: version is {version!r}, and is a number from 1; write version=1"
        )
    if not isinstance(when, ChangeSpec):
        raise DeclarationError(
            f"{where}: when is {when!r}: write created, deleted, changed(field) or "
            "became(field, value)"
        )
    if entity.versioned_ == "pointer":
        raise DeclarationError(
            f"{where}: the content of {entity.__name__} is in its versions and not in the item, "
            'so its changes are not visible: use Versioned("copy")'
        )
    published = tuple(fields) if isinstance(fields, tuple | list) else (fields,)
    if subscriber:
        published = (*entity.declarations_["key"].key_fields, *published)
    for spec in (*when.fields, *published):
        _check_field(where, entity, spec)
    if when.change == "became":
        check_condition(where, ConditionSpec(when.fields[0], when.values))
    read = {spec.name: spec for spec in (*when.fields, *published)}
    return EventPlan(
        name,
        version,
        when.change,
        {spec.name: spec.kind for spec in published},
        tuple(spec.name for spec in when.fields),
        tuple(map(to_value, when.values)),
        {name: value for name, spec in sorted(read.items()) if (value := _find_default(spec))}
        or None,
        subscriber,
    )


def _check_field(where: _Publication, entity: type[Entity], spec: Any) -> None:
    if not isinstance(spec, FieldSpec) or entity.fields_.get(spec.name) is not spec:
        known = ", ".join(f"{entity.__name__}.{name}" for name in list(entity.fields_)[:3])
        raise DeclarationError(f"{where}: {spec} is no field of it: write {known}")
    if spec.hidden:
        raise DeclarationError(f"{where}: {spec} is hidden, so it is not published; remove it")
    if spec.role == "object" or spec is entity.split_field_:
        raise DeclarationError(f"{where}: {spec} is not stored in the item; remove it")


def _find_default(spec: FieldSpec) -> dict[str, Any] | None:
    """What a read shows where an item has no value; None if that follows from no constant."""
    if spec.default is MISSING or spec.default is None:
        return None
    try:
        return to_value(spec.default)
    except (TypeError, ValueError):  # of a model of the project, or an empty set
        return None
