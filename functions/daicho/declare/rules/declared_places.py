"""The places behind the point that types declare: ``price: Decimal = field(decimal_places=2)``."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Union

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from daicho.declare.fields import FieldSpec
from daicho.storage.scales import NO_PLACES, SCALES, DeclaredPlaces

if TYPE_CHECKING:
    from daicho.declare.entity import Entity

_ARRAYS = (list, set, frozenset, tuple, Sequence, Iterable)
_MAPS = (dict, Mapping)


@cache
def list_declared_places(entity: type[Entity]) -> Mapping[str, DeclaredPlaces]:
    """The declared places of an entity's fields, by name; none of fields without any."""
    places = {
        name: _read_field(entity, spec)
        for name, spec in entity.fields_.items()
        if spec.kind in ("decimal", "json")
    }
    return {name: declared for name, declared in places.items() if declared}


@cache
def list_decimal_fields(entity: type[Entity]) -> frozenset[str]:
    """The fields that are decimals, or have decimals in them."""
    return frozenset(
        name
        for name, spec in entity.fields_.items()
        if spec.kind == "decimal" or (spec.kind == "json" and has_decimals(spec.annotation, ()))
    )


@cache
def list_unscaled_fields(entity: type[Entity]) -> frozenset[str]:
    """Those of its decimal fields whose types do not declare the places of all decimals."""
    return frozenset(
        name
        for name in list_decimal_fields(entity)
        if _may_lose(entity.fields_[name].annotation, _read_field(entity, entity.fields_[name]))
    )


def list_scale_attributes(entity: type[Entity], names: Iterable[str]) -> tuple[str, ...]:
    """The attribute to read besides some fields so that their decimals keep their scales."""
    return () if list_unscaled_fields(entity).isdisjoint(names) else (SCALES,)


def has_decimals(
    annotation: Any, visited: tuple[Any, ...], kinds: tuple[type, ...] = (Decimal,)
) -> bool:
    """Whether a value of a type may hold a decimal, or another of ``kinds``.

    ``visited``: types that it is in.
    """
    if annotation in kinds:
        return True
    if typing.get_origin(annotation) is Annotated:
        return has_decimals(typing.get_args(annotation)[0], visited, kinds)
    inner = typing.get_args(annotation) or tuple(_list_members(annotation, visited).values())
    return any(
        has_decimals(each, (*visited, annotation), kinds) for each in inner if each not in visited
    )


def _list_members(annotation: Any, visited: tuple[Any, ...]) -> Mapping[str, Any]:
    """The types of the attributes of a class that a field may have as its type, by name."""
    if not isinstance(annotation, type) or annotation in visited:
        return {}
    if issubclass(annotation, BaseModel):
        return {name: member.annotation for name, member in annotation.model_fields.items()}
    is_typed_dict = hasattr(annotation, "__required_keys__")
    if dataclasses.is_dataclass(annotation) or is_typed_dict:
        return typing.get_type_hints(annotation)
    return {}


def _read_field(entity: type[Entity], spec: FieldSpec) -> DeclaredPlaces:
    own = _find_places(entity.model_.model_fields[spec.name].metadata)
    declared = _read_places(spec.annotation, own, ())
    if declared or spec.source is None:
        return declared
    # A copy has no limits of its own.
    places = (spec.source.limits or {}).get("decimal_places") or 0
    return _read_places(spec.source.annotation, places, ())


def _read_places(annotation: Any, places: int, visited: tuple[Any, ...]) -> DeclaredPlaces:
    """The places in a value of a type; ``places``: those that limits outside the type declare."""
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is Decimal:
        return DeclaredPlaces(places) if places else NO_PLACES
    if origin is Annotated:
        return _read_places(inner[0], _find_places(inner[1:]) or places, visited)
    if origin in (Union, types.UnionType):
        members = [each for each in inner if each is not type(None)]
        return _read_places(members[0], places, visited) if len(members) == 1 else NO_PLACES
    if origin in _MAPS and len(inner) == 2:
        each = _read_places(inner[1], 0, visited)
        return DeclaredPlaces(each=each) if each else NO_PLACES
    inner = tuple(each for each in inner if each is not ...)
    if origin in _ARRAYS and len(inner) == 1:
        each = _read_places(inner[0], 0, visited)
        return DeclaredPlaces(each=each) if each else NO_PLACES
    if not isinstance(annotation, type) or not issubclass(annotation, BaseModel):
        return NO_PLACES
    if annotation in visited:  # it contains itself: its own decimals are stored with their scales
        return NO_PLACES
    named = {
        name: _read_places(member.annotation, _find_places(member.metadata), (*visited, annotation))
        for name, member in annotation.model_fields.items()
    }
    declared = {name: member for name, member in named.items() if member}
    return DeclaredPlaces(members=declared) if declared else NO_PLACES


def _find_places(metadata: Iterable[Any]) -> int:
    for each in metadata:
        if isinstance(each, FieldInfo):
            places = _find_places(each.metadata)
        else:
            places = getattr(each, "decimal_places", None) or 0
        if places:
            return places
    return 0


def _may_lose(annotation: Any, declared: DeclaredPlaces) -> bool:
    """Whether a value of a type may have a decimal whose places are not declared."""
    if annotation is Decimal:
        return not declared.places
    if typing.get_origin(annotation) is Annotated:
        return _may_lose(typing.get_args(annotation)[0], declared)
    if typing.get_origin(annotation) in (Union, types.UnionType):
        return any(_may_lose(each, declared) for each in typing.get_args(annotation))
    if inner := typing.get_args(annotation):
        return any(_may_lose(each, declared.each or NO_PLACES) for each in inner)
    if not declared:
        return has_decimals(annotation, ())
    return any(
        _may_lose(member, declared.find_member(name))
        for name, member in _list_members(annotation, ()).items()
    )
