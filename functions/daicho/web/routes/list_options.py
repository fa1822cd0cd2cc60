"""``?from=``, ``?to=``, ``?prefix=`` and ``?order=``: a part of a list, in either direction.

All lists of a path share these parameters, but each list has its own order. So a parameter takes
the values of all of them, and the list that answers a request checks its value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Annotated, Any, Literal

from pydantic import TypeAdapter, ValidationError, WithJsonSchema

from daicho.declare.entity import E
from daicho.declare.fields import FieldSpec, created_at
from daicho.declare.keys import EdgeQueries, KeyQueries
from daicho.declare.listings import ListingQueries
from daicho.declare.queries import ListQuery
from daicho.errors import Invalid, Refusal
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.web.http.operation import Answerer, Call, Operation, Parameter, Reply
from daicho.web.routes import key_prefix
from daicho.web.schema.wire_types import RANGE_TYPES

FROM, TO, PREFIX, ORDER = "from", "to", "prefix", "order"
KEY_HEAD = "list "
"""Begins the keys of the values of these parameters, so that no other value has such a key."""
RENAMED_HEAD = "list_"
"""Begins the name of a parameter whose own name is taken on its path."""

Direction = Literal["asc", "desc"]

_SCHEMAS: Mapping[str, dict[str, Any]] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "bool": {"type": "boolean"},
    "date": {"type": "string", "format": "date"},
    "datetime": {"type": "string", "format": "date-time"},
}
_DESCRIPTIONS = {
    FROM: "Only items from this value of the field that orders the list, which is included.",
    TO: "Only items up to this value of the field that orders the list, which is included.",
    PREFIX: "Only items whose text begins so, of the field that orders the list.",
    ORDER: "asc: lowest or oldest first; desc: highest or newest first.",
}
_INSTANTS = " A day is the whole day in UTC."


@dataclass(frozen=True)
class RangeParameter(Parameter):
    """A parameter of a list. ``kinds``: of the fields that order the lists of the path."""

    kinds: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The key of its value in `Call.values`, whatever its name is."""
        return f"{KEY_HEAD}{self.meaning}"

    @property
    def meaning(self) -> str:
        """Its name on most paths."""
        return self.name.removeprefix(RENAMED_HEAD)


def find_kind(owner: Any, mode: str, names: Sequence[str] = ()) -> str | None:
    """The kind of the field that orders a list; None if the list has one item or no one kind.

    ``names``: the fields that the path gives and ``under``, of the beginning of a key.
    """
    fields: Sequence[FieldSpec] = ()
    match owner, mode:
        case ListingQueries(), "":
            fields = (owner.declaration.order or (created_at,))[:1]
        case EdgeQueries(), "inverse":
            fields = owner.declaration.parts[:1]
        case KeyQueries(), "all":
            fields = owner.declaration.parts[owner.declaration.partition :][:1]
        case KeyQueries(), "under":
            parts, partition = owner.declaration.parts, owner.declaration.partition
            given = [spec for spec in parts if spec.name in names]
            if key_prefix.UNDER in names:
                # The request decides which field orders the list.
                fields = parts[max(partition, len(given) + 1) :]
            else:
                fields = parts[len(given) :][:1]
    kinds = {spec.kind for spec in fields}
    return kinds.pop() if len(kinds) == 1 and kinds <= _SCHEMAS.keys() else None


def build_parameters(kind: str | None) -> tuple[RangeParameter, ...]:
    """The parameters of a list that is ordered by a field of this kind."""
    if kind is None:
        return (_build_parameter(ORDER),)
    names = (FROM, TO, PREFIX, ORDER) if kind == "str" else (FROM, TO, ORDER)
    return tuple(_build_parameter(name, (kind,)) for name in names)


def share_parameters(operation: Operation) -> None:
    """Give all lists of an operation the same parameters, under names that nothing else has."""
    kinds: dict[str, set[str]] = {}
    taken = {variable.name for variable in operation.variables}
    for variant in operation.variants:
        for parameter in variant.parameters:
            if isinstance(parameter, RangeParameter):
                kinds.setdefault(parameter.meaning, set()).update(parameter.kinds)
            else:
                taken.add(parameter.name)
    shared = {
        name: _build_parameter(name, tuple(sorted(of_name)), is_taken=name in taken)
        for name, of_name in kinds.items()
    }
    renamed = {name: one.name for name, one in shared.items() if one.name != name}
    for place, variant in enumerate(operation.variants):
        optional = tuple(
            shared[each.meaning] if isinstance(each, RangeParameter) else each
            for each in variant.optional
        )
        if optional == variant.optional:
            continue
        answer: Answerer = variant.answer
        if renamed:
            answer = partial(_answer_renamed, answer, renamed)
        operation.variants[place] = replace(variant, optional=optional, answer=answer)


def limit_list(call: Call, kind: str | None, query: ListQuery[E]) -> ListQuery[E]:
    """The part of a list that a request selects, in the order that it selects.

    Raises:
        Invalid: a bound is no value of the field that orders the list.
    """
    low, high, prefix, order = (
        call.values.get(f"{KEY_HEAD}{name}") for name in (FROM, TO, PREFIX, ORDER)
    )
    if low is not None or high is not None:
        query = query.between(_parse(kind, low, FROM), _parse(kind, high, TO))
    if prefix is not None:
        query = query.starting_with(prefix)
    if order is not None:
        query = query.ascending() if order == "asc" else query.descending()
    return query


def refuse_range(call: Call) -> None:
    """Refuse a range below a whole key, which has one item. Invalid names the parameter."""
    for name in (FROM, TO, PREFIX):
        if call.values.get(f"{KEY_HEAD}{name}") is not None:
            raise Invalid("the whole key is given: it has no range", field=name)


@cache
def _build_parameter(
    name: str, kinds: tuple[str, ...] = (), *, is_taken: bool = False
) -> RangeParameter:
    description = _DESCRIPTIONS[name]
    annotation: Any = Direction
    if name in (FROM, TO):
        kinds_of_text = [_SCHEMAS[kind] for kind in kinds]
        if "datetime" in kinds:
            description += _INSTANTS
            if "date" not in kinds:
                kinds_of_text.append(_SCHEMAS["date"])
        schema = kinds_of_text[0] if len(kinds_of_text) == 1 else {"anyOf": kinds_of_text}
        annotation = Annotated[str, WithJsonSchema(schema)]
    elif name == PREFIX:
        annotation = str
    wire_name = f"{RENAMED_HEAD}{name}" if is_taken else name
    return RangeParameter(wire_name, annotation, description, kinds=kinds)


def _parse(kind: str | None, text: str | None, name: str) -> Any:
    """The value of a bound; Invalid names it."""
    if text is None or kind is None:
        return None
    try:
        return _make_adapter(kind).validate_python(text)
    except ValidationError as error:
        raise Invalid(error.errors()[0]["msg"], field=name) from error


@cache
def _make_adapter(kind: str) -> TypeAdapter[Any]:
    return TypeAdapter(RANGE_TYPES[kind])


def _answer_renamed(answer: Answerer, names: Mapping[str, str], call: Call) -> Reply:
    """Answer; a problem of a parameter names it as it is named on this path."""
    try:
        return answer(call)
    except Refusal as error:
        error.field = names.get(error.field or "", error.field)
        raise
