"""The operations of a resource: its verbs, and the members of its sets of references."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

from pydantic import Field

from daicho.declare.domain import Resource
from daicho.declare.entity import Entity
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
from daicho.web.http.shared_parameters import build_fields_parameter
from daicho.web.routes import crud, sections, several_values, versions
from daicho.web.routes.access import OPEN, ListAccess
from daicho.web.routes.declared_queries import DeclaredQuery
from daicho.web.routes.item_operation import build_item_operation, build_variables
from daicho.web.schema import models
from daicho.web.schema.model_refs import ModelRef

VERBS: Mapping[str, tuple[str, Callable[[Resource, Call], Reply], QueryKind]] = {
    "PUT": ("Create or replace one {}", crud.put_item, "replace"),
    "GET": ("Show one {}", crud.get_item, "get"),
    "PATCH": ("Change some fields of one {}", crud.change_item, "change"),
    "DELETE": ("Remove one {}", crud.delete_item, "delete"),
}


def build_operations(
    tag: str, resource: Resource, in_paths: Collection[str], lists: ListAccess
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
        match verb:
            case "LIST":
                queries: Any = getattr(resource.entity, "key")  # noqa: B009  # not an instance's
                yield build_listing(tag, resource.collection, DeclaredQuery(queries.all), lists)
            case "POST":
                yield _build_post(tag, resource, in_paths)
            case _:
                yield _build_verb(tag, resource, verb, in_paths)
    if {"PUT", "PATCH"} & set(resource.verbs):
        yield from _build_members(tag, resource)
    yield from sections.build_operations(tag, resource)
    if resource.entity.versioned_:
        yield from versions.build_operations(tag, resource)


def _build_verb(tag: str, resource: Resource, verb: str, in_paths: Collection[str]) -> Operation:
    """The operation of a verb at the item's path."""
    entity, name = resource.entity, resource.entity.__name__
    summary, answer, kind = VERBS[verb]
    query = QueryVariant(
        verb,
        summary.format(name),
        partial(answer, resource),
        None if verb == "DELETE" else models.refer_to_item(entity),
        optional=(build_fields_parameter(entity),) if verb == "GET" else (),
        kind=kind,
    )
    settings: dict[str, Any] = {"headers": (IF_NONE_MATCH,) if verb == "GET" else (IF_MATCH,)}
    match verb:
        case "PUT":
            outside = models.list_key_names(entity)
            settings = _describe_creation(entity, f"{name}Write", outside, in_paths)
            settings |= {"headers": (IF_MATCH, CREATE_ONLY), "also": (201,)}
        case "PATCH":
            model = ModelRef(models.build_change_model, (entity, frozenset(in_paths)))
            settings["body_model"] = model
        case "DELETE":
            cascades = bool(entity.cascading_)
            settings |= {"status": 204, "is_repeatable": cascades, "also": (202,) * cascades}
    return build_item_operation(tag, resource, verb, query, **settings)


def _build_post(tag: str, resource: Resource, in_paths: Collection[str]) -> Operation:
    """The operation that creates items with generated ids, at the path of the collection."""
    entity, collection, name = resource.entity, resource.collection, resource.entity.__name__
    variant = QueryVariant(
        f"{name}.POST",
        f"Create one {name}",
        partial(crud.create_item, resource),
        models.refer_to_item(entity),
        roles=resource.list_roles("POST"),
        kind="create",
        entity=name,
        max_items=resource.max_items,
    )
    variables = build_variables(entity, collection)
    body = _describe_creation(entity, f"New{name}", list_variables(collection), in_paths)
    return Operation("POST", collection, tag, [variant], variables, status=201, **body)


def _describe_creation(
    entity: type[Entity], name: str, outside: tuple[str, ...], in_paths: Collection[str]
) -> dict[str, Any]:
    """The body that creates an item: its model, and its limit."""
    is_split = entity.split_field_ is not None
    return {
        "body_model": ModelRef(
            models.build_creation_model, (entity, name, outside, frozenset(in_paths))
        ),
        "max_body_bytes": MAX_SPLIT_BODY_BYTES if is_split else MAX_BODY_BYTES,
    }


def _build_members(tag: str, resource: Resource) -> Iterator[Operation]:
    """The operations that put a member into a set of references, and take one out."""
    for spec in resource.entity.fields_.values():
        if spec.role != "refs":
            continue
        name, variable = spec.name, spec.target.__name__.lower()
        member = Parameter(variable, Annotated[str, Field(min_length=1)], place="path")
        add = partial(crud.add_member, resource, spec, variable)
        remove = partial(crud.remove_member, resource, spec, variable)
        put = QueryVariant(f"{name}.PUT", f"Add to {name}", add, kind="add_member")
        delete = QueryVariant(f"{name}.DELETE", f"Remove from {name}", remove, kind="remove_member")
        for method, verb, query in (("PUT", "add", put), ("DELETE", "remove", delete)):
            yield build_item_operation(
                tag,
                resource,
                method,
                query,
                below=f"/{name}/{{{variable}}}",
                variables=(member,),
                verbs=("PATCH", "PUT"),
                status=204,
                verb=verb,
            )


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
        operation.headers = (IF_NONE_MATCH,)
    return operation
