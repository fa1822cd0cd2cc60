"""The operations of a resource: its verbs, and the members of its sets of references."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

from pydantic import Field

from daicho.declare.domain import Resource
from daicho.declare.entity import Entity
from daicho.declare.fields import MISSING
from daicho.errors import DeclarationError
from daicho.web.http.operation import (
    MAX_BODY_BYTES,
    MAX_SPLIT_BODY_BYTES,
    Call,
    Operation,
    Parameter,
    QueryKind,
    QueryVariant,
    Reply,
    list_variables,
)
from daicho.web.http.preconditions import CREATE_ONLY, IF_MATCH, IF_NONE_MATCH
from daicho.web.http.shared_parameters import build_fields_parameter, build_owner_parameter
from daicho.web.routes import crud, sections, several_values, versions
from daicho.web.routes.access import OPEN, ListAccess
from daicho.web.routes.declared_queries import DeclaredQuery
from daicho.web.schema import models
from daicho.web.schema.model_refs import ModelRef

VERBS: Mapping[str, tuple[str, Callable[[Resource, Call], Reply], QueryKind]] = {
    "PUT": ("Create or replace one {}", crud.put_item, "replace"),
    "GET": ("Show one {}", crud.get_item, "get"),
    "PATCH": ("Change some fields of one {}", crud.change_item, "change"),
    "DELETE": ("Remove one {}", crud.delete_item, "delete"),
}


def build_operations(
    tag: str,
    resource: Resource,
    in_paths: Collection[str] = (),
    lists: ListAccess = OPEN,
) -> Iterator[Operation]:
    """The operations of a resource's verbs, of its sets of references, and of its versions.

    ``in_paths``: the entity's fields that its key or a query takes from paths only; ``lists``: what
    LIST needs.

    Raises:
        DeclarationError: the path has a variable that is no field of the key.
    """
    for name in list_variables(resource.path):
        if name not in models.list_key_names(resource.entity):
            raise DeclarationError(
                f"{resource.path}: {name} is no key field of {resource.entity.__name__}; use its "
                f"key fields as variables: {', '.join(models.list_key_names(resource.entity))}"
            )
    for verb in resource.verbs:
        yield _build_verb(tag, resource, verb, in_paths, lists)
    if {"PUT", "PATCH"} & set(resource.verbs):
        yield from _build_members(tag, resource)
    named = build_variables(resource.entity, resource.path)
    outside = _list_outside_path(resource.entity, resource.path)
    yield from sections.build_operations(tag, resource, named, outside)
    if resource.entity.versioned_:
        yield from versions.build_operations(tag, resource, named, outside)


def build_variables(entity: type[Entity], path: str) -> tuple[Parameter, ...]:
    """The variables of a path, which are fields of the entity."""
    return tuple(
        Parameter(name, models.choose_parameter_type(entity, name), place="path")
        for name in list_variables(path)
    )


def _build_verb(
    tag: str, resource: Resource, verb: str, in_paths: Collection[str], lists: ListAccess
) -> Operation:
    entity, path = resource.entity, resource.path
    if verb == "LIST":
        queries: Any = getattr(entity, "key")  # noqa: B009  # its type is that of an instance's key
        return build_listing(tag, resource.collection, DeclaredQuery(queries.all), lists)
    if verb == "POST":
        return _build_post(tag, resource, in_paths)
    required, optional = _list_outside_path(entity, path)
    summary, answer, kind = VERBS[verb]
    if verb == "GET":
        optional = (*optional, build_fields_parameter(entity))
    model = None if verb == "DELETE" else models.refer_to_item(entity)
    name = entity.__name__
    variant = QueryVariant(
        f"{name}.{verb}",
        summary.format(name),
        partial(answer, resource),
        model,
        required,
        optional,
        roles=resource.list_roles(verb),
        kind=kind,
        entity=name,
    )
    operation = Operation(verb, path, tag, [variant], build_variables(entity, path), (IF_MATCH,))
    match verb:
        case "PUT":
            operation.headers = (IF_MATCH, CREATE_ONLY)
            outside = models.list_key_names(entity)
            operation.body_model = ModelRef(
                models.build_creation_model,
                (entity, f"{entity.__name__}Write", outside, frozenset(in_paths)),
            )
            operation.also, operation.errors = (201,), (409, 412)
            operation.max_body_bytes = _choose_body_limit(entity)
        case "GET":
            operation.headers, operation.also = (IF_NONE_MATCH,), (304,)
        case "PATCH":
            operation.body_model, operation.errors = (
                ModelRef(models.build_change_model, (entity, frozenset(in_paths))),
                (409, 412),
            )
        case "DELETE":
            operation.status, operation.errors = 204, (412,)
    return operation


def _list_outside_path(
    entity: type[Entity], path: str
) -> tuple[tuple[Parameter, ...], tuple[Parameter, ...]]:
    """Key fields that are not in the path: the required ones, and those with a default."""
    parameters = [
        Parameter(
            name, models.choose_parameter_type(entity, name), default=entity.fields_[name].default
        )
        for name in models.list_key_names(entity)
        if name not in list_variables(path) and entity.fields_[name].role != "owner"
    ]
    required = tuple(
        replace(parameter, default=None) for parameter in parameters if parameter.default is MISSING
    )
    return required, (
        *(parameter for parameter in parameters if parameter.default is not MISSING),
        *_build_owner_parameter(entity, path),
    )


def _build_owner_parameter(entity: type[Entity], path: str) -> tuple[Parameter, ...]:
    """The owner, if it is a key field that is not in the path: the caller by default."""
    owner = entity.owner_field_
    if owner is None or owner not in models.build_key_model(entity).parts:
        return ()
    if owner.name in list_variables(path):
        return ()
    return (build_owner_parameter(entity, owner.name),)


def _build_post(tag: str, resource: Resource, in_paths: Collection[str]) -> Operation:
    entity, collection = resource.entity, resource.collection
    name = entity.__name__
    summary = f"Create one {name}"
    variant = QueryVariant(
        f"{name}.POST",
        summary,
        partial(crud.create_item, resource),
        models.refer_to_item(entity),
        roles=resource.list_roles("POST"),
        kind="create",
        entity=name,
        max_items=resource.max_items,
    )
    return Operation(
        "POST",
        collection,
        tag,
        [variant],
        build_variables(entity, collection),
        body_model=ModelRef(
            models.build_creation_model,
            (entity, f"New{name}", list_variables(collection), frozenset(in_paths)),
        ),
        status=201,
        errors=(409,),
        max_body_bytes=_choose_body_limit(entity),
    )


def _choose_body_limit(entity: type[Entity]) -> int:
    return MAX_BODY_BYTES if entity.split_field_ is None else MAX_SPLIT_BODY_BYTES


def _build_members(tag: str, resource: Resource) -> Iterator[Operation]:
    entity = resource.entity
    for spec in entity.fields_.values():
        if spec.role != "refs":
            continue
        variable = spec.target.__name__.lower()
        member = Parameter(variable, Annotated[str, Field(min_length=1)], place="path")
        path = f"{resource.path}/{spec.name}/{{{variable}}}"
        inside = (*build_variables(entity, resource.path), member)
        membership = crud.Membership(resource, spec.name, variable)
        members: tuple[tuple[str, str, str, Callable[[Call], Reply], QueryKind], ...] = (
            ("PUT", "add", "to", membership.add, "add_member"),
            ("DELETE", "remove", "from", membership.remove, "remove_member"),
        )
        for method, verb, preposition, answer, kind in members:
            summary = f"{verb.title()} {preposition} {spec.name}"
            roles = resource.list_roles("PATCH", "PUT")
            outside = _list_outside_path(entity, resource.path)
            variant = QueryVariant(
                f"{spec}.{method}",
                summary,
                answer,
                None,
                *outside,
                roles=roles,
                kind=kind,
                entity=entity.__name__,
            )
            yield Operation(method, path, tag, [variant], inside, status=204, verb=verb)


def build_listing(
    tag: str,
    path: str,
    query: DeclaredQuery,
    access: ListAccess = OPEN,
    fixed: dict[str, str] | None = None,
) -> Operation:
    """A declaration as the query of a path; ``access``: what it needs.

    Raises:
        DeclarationError: the path has a variable that the declaration does not take.
    """
    typed = {parameter.name: parameter for parameter in query.parameters}
    for name in list_variables(path):
        if name not in typed:
            names = ", ".join(typed) or "it takes none, so remove it"
            raise DeclarationError(
                f"{path}: {name} is nothing that {query.name} takes; use its parameters as "
                f"variables: {names}"
            )
    inside = tuple(
        replace(several_values.get_single(typed[name]), place="path")
        for name in list_variables(path)
    )
    variant = query.build_variant(list_variables(path), fixed or {}, is_own=access.is_own)
    variant = replace(variant, roles=access.roles)
    operation = Operation("GET", path, tag, [variant], inside)
    if query.shows_one:
        operation.headers, operation.also = (IF_NONE_MATCH,), (304,)
    return operation
