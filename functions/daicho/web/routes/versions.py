"""The operations of an item's versions, mounted with every resource whose entity is `Versioned`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from annotated_types import Ge, Le
from pydantic import BaseModel

from daicho.declare.domain import Resource
from daicho.declare.queries import ItemRef, ListQuery
from daicho.web.http import responses
from daicho.web.http.operation import (
    Call,
    Operation,
    Parameter,
    QueryKind,
    QueryVariant,
    Reply,
)
from daicho.web.http.preconditions import IF_MATCH, IF_NONE_MATCH
from daicho.web.http.shared_parameters import PAGING, build_fields_parameter
from daicho.web.routes import crud, list_options
from daicho.web.schema import models
from daicho.web.schema.wire_types import add_limits, to_text_type

MAX_VERSION = 10**15
NUMBER = Parameter(
    "version",
    add_limits(to_text_type(int), [Ge(1), Le(MAX_VERSION)]),
    "The number of the version.",
    "path",
)
OutsideParameters = tuple[Parameter, ...]


class Forgotten(BaseModel):
    """How many versions were removed. Unless ``done``, there are more: repeat the request."""

    removed: int
    done: bool


def build_operations(
    tag: str,
    resource: Resource,
    variables: OutsideParameters,
    outside: tuple[OutsideParameters, OutsideParameters],
) -> Iterator[Operation]:
    """The operations that list and show versions, and restore and forget where writes are allowed.

    ``outside``: key fields that are parameters, not in the path: required ones and others.
    """
    entity, name = resource.entity, resource.entity.__name__
    list_path, version_path = f"{resource.path}/versions", f"{resource.path}/versions/{{version}}"
    item_model, (required, optional) = models.refer_to_item(entity), outside

    def build_variants(
        action: str,
        description: str,
        answer: Callable[[Resource, Call], Reply],
        returns: Any,
        *parameters: Parameter,
        verbs: tuple[str, ...] = ("GET",),
        kind: QueryKind,
    ) -> list[QueryVariant]:
        variant_name = ".".join(filter(None, (name, "versions", action)))
        bound, accepted = partial(answer, resource), (*optional, *parameters)
        roles = resource.list_roles(*verbs)
        return [
            QueryVariant(
                variant_name,
                description,
                bound,
                returns,
                required,
                accepted,
                roles=roles,
                kind=kind,
                entity=name,
            )
        ]

    summary = f"List the versions of one {name}, newest first, also if it was removed"
    fields = build_fields_parameter(entity)
    variants = build_variants(
        "",
        summary,
        _list_versions,
        models.refer_to_page(item_model),
        *PAGING,
        *list_options.build_parameters("int"),
        fields,
        kind="versions",
    )
    yield Operation("GET", list_path, tag, variants, variables)
    numbered = (*variables, NUMBER)
    summary = f"Show one version of one {name}"
    variants = build_variants("at", summary, _get_version, item_model, fields, kind="version")
    get = Operation("GET", version_path, tag, variants, numbered)
    get.headers, get.also = (IF_NONE_MATCH,), (304,)
    yield get
    if {"PUT", "PATCH"} & set(resource.verbs):
        summary = f"Restore a version of one {name} as the newest"
        variants = build_variants(
            "restore",
            summary,
            _restore_version,
            item_model,
            verbs=("PATCH", "PUT"),
            kind="restore",
        )
        restore = Operation("POST", f"{version_path}/restore", tag, variants, numbered, (IF_MATCH,))
        restore.errors = (409, 412)
        yield restore
    if "DELETE" in resource.verbs:
        summary = f"Remove up to a thousand versions of one {name}, except the newest"
        variants = build_variants(
            "forget", summary, _forget_versions, Forgotten, verbs=("DELETE",), kind="forget"
        )
        yield Operation("DELETE", list_path, tag, variants, variables, verb="forget")


def _list_versions(resource: Resource, call: Call) -> Reply:
    ref = crud.build_ref(resource.entity, call)
    query = ListQuery(ref.entity, "versions", "versions", ref.parts)
    return responses.show_list(call, list_options.limit_list(call, "int", query))


def _get_version(resource: Resource, call: Call) -> Reply:
    return responses.show_one(call, _build_version_ref(resource, call))


def _restore_version(resource: Resource, call: Call) -> Reply:
    ref = _build_version_ref(resource, call)
    current = crud.build_ref(resource.entity, call)
    version = crud.resolve_known_version(call, current)
    return responses.show_changed(call.book.restore(ref, if_match=version))


def _forget_versions(resource: Resource, call: Call) -> Reply:
    result = call.book.forget(crud.build_ref(resource.entity, call))
    return Reply(200, json.dumps({"removed": result.removed, "done": result.done}))


def _build_version_ref(resource: Resource, call: Call) -> ItemRef[Any]:
    ref = crud.build_ref(resource.entity, call)
    return ItemRef(ref.entity, ref.parts, call.values[NUMBER.name])
