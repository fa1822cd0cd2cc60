"""The operations of a resource: its verbs, and the members of its sets of references."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from daicho.declare.domain import Resource
from daicho.declare.entity import Entity
from daicho.declare.fields import MISSING
from daicho.declare.split import find_split_field
from daicho.errors import DeclarationError
from daicho.web.http import field_selection
from daicho.web.http.operation import (
    MOST_BODY_BYTES,
    MOST_SPLIT_BYTES,
    Choice,
    Operation,
    Parameter,
    variables_of,
)
from daicho.web.http.preconditions import CREATE_ONLY, IF_MATCH, IF_NONE_MATCH
from daicho.web.routes import crud, sections, versions
from daicho.web.routes.declared_queries import Mounted
from daicho.web.schema import models

VERBS = {
    "PUT": ("Create or replace one {}", crud.put),
    "GET": ("Show one {}", crud.get),
    "PATCH": ("Change some fields of one {}", crud.patch),
    "DELETE": ("Remove one {}", crud.delete),
}


def operations(tag: str, resource: Resource, in_paths: Collection[str] = ()) -> Iterator[Operation]:
    """The operations of a resource's verbs, of its sets of references, and of its versions.

    ``in_paths``: the entity's fields that something is asked by in a path only.

    Raises:
        DeclarationError: the path names something that is no field of the key.
    """
    for name in variables_of(resource.path):
        if name not in models.key_names(resource.entity):
            raise DeclarationError(
                f"{resource.path}: {name} is no key field of {resource.entity.__name__}"
            )
    for verb in resource.verbs:
        yield _verb(tag, resource, verb, in_paths)
    if {"PUT", "PATCH"} & set(resource.verbs):
        yield from _members(tag, resource)
    yield from sections.operations(tag, resource, variables(resource.entity, resource.path))
    if resource.entity.versioned_:
        named = variables(resource.entity, resource.path)
        outside = _outside(resource.entity, resource.path)
        yield from versions.operations(tag, resource, named, outside)


def asked(entity: type[Entity], name: str) -> Any:
    """A declaration, asked: what ``Song.titled`` gives."""
    return getattr(entity, name)


def variables(entity: type[Entity], path: str) -> tuple[Parameter, ...]:
    """The variables of a path, which are fields of the entity."""
    return tuple(
        Parameter(name, models.parameter_type(entity, name), place="path")
        for name in variables_of(path)
    )


def _verb(tag: str, resource: Resource, verb: str, in_paths: Collection[str]) -> Operation:
    entity, path = resource.entity, resource.path
    if verb == "LIST":
        return listing(tag, resource.collection, Mounted(asked(entity, "key").all))
    if verb == "POST":
        return _post(tag, resource, in_paths)
    required, optional = _outside(entity, path)
    said, does = VERBS[verb]
    if verb == "GET":
        optional = (*optional, field_selection.parameter(entity))
    shown = None if verb == "DELETE" else models.reading(entity)
    name = entity.__name__
    choice = Choice(f"{name}.{verb}", said.format(name), does(resource), shown, required, optional)
    made = Operation(verb, path, tag, [choice], variables(entity, path), (IF_MATCH,))
    match verb:
        case "PUT":
            made.headers = (IF_MATCH, CREATE_ONLY)
            outside = models.key_names(entity)
            made.body = models.creation(entity, f"{entity.__name__}Write", outside, in_paths)
            made.also, made.errors = (201,), (409, 412, 413, 415)
            made.most_bytes = _most_bytes(entity)
        case "GET":
            made.headers, made.also = (IF_NONE_MATCH,), (304,)
        case "PATCH":
            made.body, made.errors = models.change(entity, in_paths), (409, 412, 413, 415)
        case "DELETE":
            made.status, made.errors = 204, (412,)
    return made


def _outside(
    entity: type[Entity], path: str
) -> tuple[tuple[Parameter, ...], tuple[Parameter, ...]]:
    """Key fields that are not in the path: those that must be given, and those with a default."""
    found = [
        Parameter(name, models.parameter_type(entity, name), default=entity.fields_[name].default)
        for name in models.key_names(entity)
        if name not in variables_of(path)
    ]
    required = tuple(replace(each, default=None) for each in found if each.default is MISSING)
    return required, tuple(each for each in found if each.default is not MISSING)


def _post(tag: str, resource: Resource, in_paths: Collection[str]) -> Operation:
    entity, collection = resource.entity, resource.collection
    name = entity.__name__
    said = f"Create one {name}; its id is made"
    choice = Choice(f"{name}.POST", said, crud.post(resource), models.reading(entity))
    return Operation(
        "POST",
        collection,
        tag,
        [choice],
        variables(entity, collection),
        body=models.creation(entity, f"New{name}", variables_of(collection), in_paths),
        status=201,
        errors=(409, 413, 415),
        most_bytes=_most_bytes(entity),
    )


def _most_bytes(entity: type[Entity]) -> int:
    return MOST_BODY_BYTES if find_split_field(entity) is None else MOST_SPLIT_BYTES


def _members(tag: str, resource: Resource) -> Iterator[Operation]:
    entity = resource.entity
    for spec in entity.fields_.values():
        if spec.role != "refs":
            continue
        variable = spec.target.__name__.lower()
        member = Parameter(variable, Annotated[str, Field(min_length=1)], place="path")
        path = f"{resource.path}/{spec.name}/{{{variable}}}"
        inside = (*variables(entity, resource.path), member)
        for method, does in (("PUT", crud.join), ("DELETE", crud.leave)):
            said = f"{'Add to' if method == 'PUT' else 'Remove from'} {spec.name}"
            choice = Choice(f"{spec}.{method}", said, does(resource, spec.name, variable))
            yield Operation(method, path, tag, [choice], inside, status=204)


def listing(
    tag: str, path: str, mounted: Mounted, fixed: dict[str, str] | None = None
) -> Operation:
    """A declaration as the query of a path.

    Raises:
        DeclarationError: the path names something that the declaration does not take.
    """
    typed = {each.name: each for each in mounted.parameters}
    for name in variables_of(path):
        if name not in typed:
            raise DeclarationError(f"{path}: {name} is nothing that {mounted.name} takes")
    inside = tuple(
        Parameter(name, typed[name].annotation, place="path") for name in variables_of(path)
    )
    choice = mounted.choice(variables_of(path), fixed or {})
    return Operation("GET", path, tag, [choice], inside)
