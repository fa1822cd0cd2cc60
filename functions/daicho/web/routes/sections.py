"""Sections of split items over HTTP: a section's path is its item's path and its own name."""

from __future__ import annotations

import json
import typing
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Annotated, Any, cast

from pydantic import Field, RootModel

from daicho.declare.domain import Resource
from daicho.declare.entity import Entity
from daicho.declare.queries import SectionRef
from daicho.declare.results import SectionValue
from daicho.errors import DeclarationError
from daicho.items.section_values import render_section
from daicho.web.http import responses
from daicho.web.http.operation import (
    MAX_SPLIT_BODY_BYTES,
    Call,
    Operation,
    Parameter,
    QueryKind,
    QueryVariant,
    Reply,
    list_variables,
)
from daicho.web.http.preconditions import IF_MATCH, IF_NONE_MATCH, matches_any, resolve_version
from daicho.web.routes import crud
from daicho.web.schema import models
from daicho.web.schema.model_refs import ModelRef

VARIABLE = "section"
_KINDS: Mapping[str, QueryKind] = {
    "GET": "section",
    "PUT": "replace_section",
    "DELETE": "delete_section",
}
_NAME = Parameter(
    VARIABLE, Annotated[str, Field(min_length=1)], "The name of the section.", place="path"
)


def build_operations(
    tag: str,
    resource: Resource,
    inside: tuple[Parameter, ...],
    outside: tuple[tuple[Parameter, ...], tuple[Parameter, ...]],
) -> Iterator[Operation]:
    """The operations that read and write single sections, where the resource's verbs allow it.

    ``outside``: key fields that are parameters, not in the path: required ones and others.

    Raises:
        DeclarationError: the item's path has a variable of that name.
    """
    split_field = resource.entity.split_field_
    if split_field is None:
        return
    if VARIABLE in list_variables(resource.path):
        raise DeclarationError(
            f"{resource.path}: {{{VARIABLE}}} is the name of a section; "
            "choose another name for the variable of the key"
        )
    path, entity = f"{resource.path}/{{{VARIABLE}}}", resource.entity
    body = ModelRef(_read_value, (entity, split_field.name))
    name = split_field.name
    answers = {
        "GET": (partial(_get_section, entity), f"Show one of the {name} of one {entity.__name__}"),
        "PUT": (
            partial(_put_section, resource),
            f"Create or replace one of the {name}",
        ),
        "DELETE": (partial(_delete_section, entity), f"Remove one of the {name}"),
    }
    for method, (answer, summary) in answers.items():
        if method == "GET" and "GET" not in resource.verbs:
            continue
        if method != "GET" and not {"PUT", "PATCH"} & set(resource.verbs):
            continue
        model = None if method == "DELETE" else body
        roles = resource.list_roles(*(("GET",) if method == "GET" else ("PATCH", "PUT")))
        variant = QueryVariant(
            f"{entity.__name__}.{name}.{method}",
            summary,
            answer,
            model,
            *outside,
            roles=roles,
            kind=_KINDS[method],
            entity=entity.__name__,
        )
        operation = Operation(method, path, tag, [variant], (*inside, _NAME), (IF_MATCH,))
        operation.has_etag = method != "DELETE"
        match method:
            case "GET":
                operation.headers, operation.also = (IF_NONE_MATCH,), (304,)
            case "PUT":
                operation.variants = [replace(variant, finish=_render_value)]
                operation.body_model, operation.also, operation.errors = (
                    body,
                    (201,),
                    (409, 412, 413, 415),
                )
                operation.max_body_bytes = MAX_SPLIT_BODY_BYTES
            case "DELETE":
                operation.status, operation.errors = 204, (409, 412)
        yield operation


@cache
def _read_value(entity: type[Entity], field: str) -> type[RootModel[Any]]:
    """The model of a section: any value that the field's declaration admits."""
    _, value = typing.get_args(entity.fields_[field].annotation)
    namespace = {"__module__": __name__, "__doc__": "The value of one section."}
    root: Any = RootModel
    model: type[RootModel[Any]] = type(f"{entity.__name__}Section", (root[value],), namespace)
    return model


def _build_ref(entity: type[Entity], call: Call) -> SectionRef[Entity]:
    return SectionRef(entity, crud.build_ref(entity, call).parts, call.values[VARIABLE])


def _get_section(entity: type[Entity], call: Call) -> Reply:
    section = call.book.section(_build_ref(entity, call))
    tag, if_none_match = _render_tag(section), call.values.get(IF_NONE_MATCH.name)
    if if_none_match is not None and matches_any(if_none_match, tag):
        return Reply(304, headers={"ETag": tag})
    return Reply(200, _render_text(section.value), {"ETag": tag})


def _put_section(resource: Resource, call: Call) -> Reply:
    ref, body = _build_ref(resource.entity, call), cast("RootModel[Any]", call.body)
    section = call.book.put_section(ref, body.root, if_match=_resolve_known_version(call, ref))
    if not section.new:
        return Reply(200, headers={"ETag": _render_tag(section)})
    names = zip(models.list_key_names(resource.entity), ref.parts, strict=True)
    path = f"{resource.path}/{{{VARIABLE}}}"
    location = responses.fill_path(path, {**dict(names), VARIABLE: ref.name})
    return Reply(201, headers={"ETag": _render_tag(section), "Location": location})


def _render_value(call: Call, reply: Reply) -> Reply:
    """Show the value of the request. It is not stored: a repeated request contains it again."""
    body: Any = call.body
    return replace(reply, body=_render_text(body.root))


def _delete_section(entity: type[Entity], call: Call) -> Reply:
    ref = _build_ref(entity, call)
    call.book.remove_section(ref, if_match=_resolve_known_version(call, ref))
    return responses.NO_CONTENT


def _render_text(value: Any) -> str:
    return json.dumps(render_section(value), ensure_ascii=False, separators=(",", ":"))


def _render_tag(section: SectionValue) -> str:
    return f'"{section.version}"'


def _resolve_known_version(call: Call, ref: SectionRef[Entity]) -> int | None:
    """The version that If-Match asks for, None without one.

    Raises:
        PreconditionFailed: no version that the caller knows is the section's.
    """
    return resolve_version(call.values, lambda: call.book.find_section(ref), "section")
