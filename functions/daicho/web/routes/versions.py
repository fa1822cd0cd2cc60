"""The operations of an item's versions, mounted with every resource whose entity is `Versioned`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from annotated_types import Ge, Le
from pydantic import BaseModel

from daicho.declare.domain import Resource
from daicho.declare.queries import ItemRef, ListQuery
from daicho.web.http import field_selection, responses
from daicho.web.http.operation import Answerer, Call, Operation, Parameter, QueryVariant, Reply
from daicho.web.http.paging import PAGING
from daicho.web.http.preconditions import IF_MATCH, IF_NONE_MATCH
from daicho.web.routes import crud
from daicho.web.schema import models
from daicho.web.schema.wire_types import add_limits, to_text_type

MAX_VERSION = 10**15
NUMBER = Parameter(
    "version",
    add_limits(to_text_type(int), [Ge(1), Le(MAX_VERSION)]),
    "The version's number.",
    "path",
)
OutsideParameters = tuple[Parameter, ...]


class Forgotten(BaseModel):
    """How many versions were removed. Not ``done``: ask again, there are more."""

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
    every, one = f"{resource.path}/versions", f"{resource.path}/versions/{{version}}"
    shown, (required, optional) = models.build_item_model(entity), outside

    def choice(
        action: str, description: str, does: Answerer, returns: Any, *more: Parameter
    ) -> list[QueryVariant]:
        called = ".".join(filter(None, (name, "versions", action)))
        return [QueryVariant(called, description, does, returns, required, (*optional, *more))]

    summary = f"List the versions of one {name}, newest first; of a removed one too"
    fields = field_selection.build_parameter(entity)
    lists = choice(
        "", summary, _build_list(resource), models.build_page_model(shown), *PAGING, fields
    )
    yield Operation("GET", every, tag, lists, variables)
    numbered = (*variables, NUMBER)
    summary = f"Show one {name} as it was in that version"
    does = choice("at", summary, _build_get(resource), shown, fields)
    shows = Operation("GET", one, tag, does, numbered)
    shows.headers, shows.also = (IF_NONE_MATCH,), (304,)
    yield shows
    if {"PUT", "PATCH"} & set(resource.verbs):
        summary = f"Write a version of one {name} once more, as the newest"
        does = choice("restore", summary, _build_restore(resource), shown)
        restores = Operation("POST", f"{one}/restore", tag, does, numbered, (IF_MATCH,))
        restores.errors = (409, 412)
        yield restores
    if "DELETE" in resource.verbs:
        summary = f"Remove the versions of one {name} before the newest, a thousand at most"
        forgets = choice("forget", summary, _build_forget(resource), Forgotten)
        yield Operation("DELETE", every, tag, forgets, variables)


def _build_list(resource: Resource) -> Answerer:
    def answer(call: Call) -> Reply:
        one = crud.build_ref(resource.entity, call.values)
        return responses.show_list(call, ListQuery(one.entity, "versions", "versions", one.parts))

    return answer


def _build_get(resource: Resource) -> Answerer:
    return lambda call: responses.show_one(call, _add_number(resource, call))


def _build_restore(resource: Resource) -> Answerer:
    def answer(call: Call) -> Reply:
        one = crud.build_ref(resource.entity, call.values)
        version = crud.resolve_known_version(call, one)
        return responses.show_changed(
            call.book.restore(_add_number(resource, call), if_match=version)
        )

    return answer


def _build_forget(resource: Resource) -> Answerer:
    def answer(call: Call) -> Reply:
        result = call.book.forget(crud.build_ref(resource.entity, call.values))
        return Reply(200, json.dumps({"removed": result.removed, "done": result.done}))

    return answer


def _add_number(resource: Resource, call: Call) -> ItemRef[Any]:
    one = crud.build_ref(resource.entity, call.values)
    return ItemRef(one.entity, one.parts, call.values[NUMBER.name])
