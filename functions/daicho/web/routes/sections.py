"""Sections of split items over HTTP: a section's path is its item's path and its own name."""

from __future__ import annotations

import json
import typing
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from typing import Annotated, Any, cast

from pydantic import Field, RootModel

from daicho.declare.domain import Resource
from daicho.declare.entity import Entity
from daicho.declare.queries import SectionRef
from daicho.errors import DeclarationError
from daicho.items.section_values import render_section
from daicho.web.http import responses
from daicho.web.http.operation import (
    MAX_SPLIT_BODY_BYTES,
    Call,
    Operation,
    Parameter,
    QueryVariant,
    Reply,
    list_variables,
)
from daicho.web.http.preconditions import IF_MATCH, IF_NONE_MATCH, resolve_version
from daicho.web.routes import crud
from daicho.web.routes.item_operation import build_item_operation
from daicho.web.schema import models
from daicho.web.schema.model_refs import ModelRef

VARIABLE = "section"
_NAME = Parameter(
    VARIABLE, Annotated[str, Field(min_length=1)], "The name of the section.", place="path"
)


def build_operations(tag: str, resource: Resource) -> Iterator[Operation]:
    """The operations that read and write single sections, where the resource's verbs allow it.

    Raises:
        DeclarationError: the item's path has a variable of that name.
    """
    split_field, entity = resource.entity.split_field_, resource.entity
    if split_field is None:
        return
    if VARIABLE in list_variables(resource.path):
        raise DeclarationError(
            f"{resource.path}: {{{VARIABLE}}} is the name of a section; "
            "choose another name for the variable of the key"
        )
    name = split_field.name
    value = ModelRef(_read_value, (entity, name))
    get = QueryVariant(
        f"{name}.GET",
        f"Show one of the {name} of one {entity.__name__}",
        partial(_get_section, entity),
        value,
        kind="section",
    )
    put = QueryVariant(
        f"{name}.PUT",
        f"Create or replace one of the {name}",
        partial(_put_section, resource),
        value,
        finish=_render_value,
        kind="replace_section",
    )
    delete = QueryVariant(
        f"{name}.DELETE",
        f"Remove one of the {name}",
        partial(_delete_section, entity),
        kind="delete_section",
    )
    path: dict[str, Any] = {"below": f"/{{{VARIABLE}}}", "variables": (_NAME,)}
    if "GET" in resource.verbs:
        shown = (IF_NONE_MATCH,)
        yield build_item_operation(tag, resource, "GET", get, **path, headers=shown, has_etag=True)
    if {"PUT", "PATCH"} & set(resource.verbs):
        path |= {"verbs": ("PATCH", "PUT"), "headers": (IF_MATCH,)}
        yield build_item_operation(
            tag,
            resource,
            "PUT",
            put,
            **path,
            body_model=value,
            max_body_bytes=MAX_SPLIT_BODY_BYTES,
            also=(201,),
            has_etag=True,
        )
        yield build_item_operation(tag, resource, "DELETE", delete, **path, status=204)


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
    return responses.show_unless_current(call, section, lambda: _render_text(section.value))


def _put_section(resource: Resource, call: Call) -> Reply:
    ref, body = _build_ref(resource.entity, call), cast("RootModel[Any]", call.body)
    section = call.book.put_section(ref, body.root, if_match=_resolve_known_version(call, ref))
    headers = {"ETag": responses.render_etag(section)}
    if not section.new:
        return Reply(200, headers=headers)
    names = zip(models.list_key_names(resource.entity), ref.parts, strict=True)
    path = f"{resource.path}/{{{VARIABLE}}}"
    location = responses.fill_path(path, {**dict(names), VARIABLE: ref.name})
    return Reply(201, headers={**headers, "Location": location})


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


def _resolve_known_version(call: Call, ref: SectionRef[Entity]) -> int | None:
    """The version that If-Match asks for, None without one.

    Raises:
        PreconditionFailed: no version that the caller knows is the section's.
    """
    return resolve_version(call.values, lambda: call.book.find_section(ref), "section")
