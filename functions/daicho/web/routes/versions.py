"""The operations of an item's versions, mounted with every resource whose entity is `Versioned`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

from annotated_types import Ge, Le
from pydantic import BaseModel

from daicho.declare.domain import Resource
from daicho.declare.queries import ItemRef, ListQuery
from daicho.web.http import responses
from daicho.web.http.operation import Call, Operation, Parameter, QueryVariant, Reply
from daicho.web.http.preconditions import IF_MATCH, IF_NONE_MATCH
from daicho.web.http.shared_parameters import PAGING, build_fields_parameter
from daicho.web.routes import crud, list_options
from daicho.web.routes.item_operation import build_item_operation
from daicho.web.schema import models
from daicho.web.schema.wire_types import add_limits, to_text_type

MAX_VERSION = 10**15
NUMBER = Parameter(
    "version",
    add_limits(to_text_type(int), [Ge(1), Le(MAX_VERSION)]),
    "The number of the version.",
    "path",
)


class Forgotten(BaseModel):
    """How many versions were removed. Unless ``done``, there are more: repeat the request."""

    removed: int
    done: bool


def build_operations(tag: str, resource: Resource) -> Iterator[Operation]:
    """The operations that list and show versions, and those that restore and forget them.

    The latter exist where writes are allowed.
    """
    entity, name = resource.entity, resource.entity.__name__
    item, fields = models.refer_to_item(entity), build_fields_parameter(entity)
    build = partial(build_item_operation, tag, resource)
    versions = QueryVariant(
        "versions",
        f"List the versions of one {name}, newest first, also if it was removed",
        partial(_list_versions, resource),
        models.refer_to_page(item),
        optional=(*PAGING, *list_options.build_parameters("int"), fields),
        kind="versions",
    )
    yield build("GET", versions, below="/versions")
    summary, answer = f"Show one version of one {name}", partial(_get_version, resource)
    at = QueryVariant("versions.at", summary, answer, item, optional=(fields,), kind="version")
    version: dict[str, Any] = {"below": "/versions/{version}", "variables": (NUMBER,)}
    yield build("GET", at, **version, headers=(IF_NONE_MATCH,))
    if {"PUT", "PATCH"} & set(resource.verbs):
        summary = f"Restore a version of one {name} as the newest"
        answer = partial(_restore_version, resource)
        restore = QueryVariant("versions.restore", summary, answer, item, kind="restore")
        version["below"] += "/restore"
        yield build("POST", restore, **version, verbs=("PATCH", "PUT"), headers=(IF_MATCH,))
    if "DELETE" in resource.verbs:
        summary = f"Remove up to a thousand versions of one {name}, except the newest"
        answer = partial(_forget_versions, resource)
        forget = QueryVariant("versions.forget", summary, answer, Forgotten, kind="forget")
        yield build("DELETE", forget, below="/versions", verb="forget")


def _list_versions(resource: Resource, call: Call) -> Reply:
    ref = crud.build_ref(resource.entity, call)
    query = ListQuery(ref.entity, "versions", "versions", ref.parts)
    return responses.show_list(call, list_options.limit_list(call, "int", query))


def _get_version(resource: Resource, call: Call) -> Reply:
    return responses.show_one(call, _build_version_ref(resource, call))


def _restore_version(resource: Resource, call: Call) -> Reply:
    ref = _build_version_ref(resource, call)
    current = crud.build_ref(resource.entity, call)
    version = crud.resolve_known_tag(call, current)
    return responses.show_changed(call.book.restore(ref, if_match=version))


def _forget_versions(resource: Resource, call: Call) -> Reply:
    result = call.book.forget(crud.build_ref(resource.entity, call))
    return Reply(200, json.dumps({"removed": result.removed, "done": result.done}))


def _build_version_ref(resource: Resource, call: Call) -> ItemRef[Any]:
    ref = crud.build_ref(resource.entity, call)
    return ItemRef(ref.entity, ref.parts, call.values[NUMBER.name])
