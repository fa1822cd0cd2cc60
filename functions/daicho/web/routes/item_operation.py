"""Operations on one item of a resource: at the item's path, or below it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from daicho.declare.domain import Resource
from daicho.declare.entity import Entity
from daicho.declare.fields import MISSING
from daicho.web.http.operation import Operation, Parameter, QueryVariant, list_variables
from daicho.web.http.shared_parameters import build_owner_parameter
from daicho.web.schema import models


def build_item_operation(
    tag: str,
    resource: Resource,
    method: str,
    query: QueryVariant,
    *,
    below: str = "",
    variables: tuple[Parameter, ...] = (),
    verbs: tuple[str, ...] = (),
    **settings: Any,
) -> Operation:
    """An operation on one item.

    ``query`` has the end of its name, and not the parameters of the item's key. ``below``: the rest
    of the path, and ``variables`` those in it. ``verbs``: it is for the roles of the first of them
    that the resource has, by default of the method. ``settings``: further values of the
    `Operation`.
    """
    entity = resource.entity
    required, with_default = _list_outside_path(entity, resource.path)
    query = replace(
        query,
        name=f"{entity.__name__}.{query.name}",
        required=required,
        optional=(*with_default, *query.optional),
        roles=resource.list_roles(*(verbs or (method,))),
        entity=entity.__name__,
    )
    inside = (*build_variables(entity, resource.path), *variables)
    return Operation(method, f"{resource.path}{below}", tag, [query], inside, **settings)


def build_variables(entity: type[Entity], path: str) -> tuple[Parameter, ...]:
    """The variables of a path, which are fields of the entity."""
    return tuple(
        Parameter(name, models.choose_parameter_type(entity, name), place="path")
        for name in list_variables(path)
    )


def _list_outside_path(
    entity: type[Entity], path: str
) -> tuple[tuple[Parameter, ...], tuple[Parameter, ...]]:
    """Key fields that are not in the path: the required ones, and those with a default.

    The owner has a default: the caller.
    """
    required: list[Parameter] = []
    with_default: list[Parameter] = []
    owner: list[Parameter] = []
    for name in models.list_key_names(entity):
        spec = entity.fields_[name]
        if name in list_variables(path):
            continue
        if spec is entity.owner_field_:
            owner.append(build_owner_parameter(entity, name))
            continue
        annotation = models.choose_parameter_type(entity, name)
        if spec.default is MISSING:
            required.append(Parameter(name, annotation))
        else:
            with_default.append(Parameter(name, annotation, default=spec.default))
    return tuple(required), (*with_default, *owner)
