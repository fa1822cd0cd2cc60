"""A domain's own functions as operations: their signatures define the requests.

A function takes the ``book``, the `Caller`, the path's variables, a body (a Pydantic model),
headers by name (``idempotency_key``; ``if_match``, as a version), and query parameters. A query
parameter is required if the path names it or if it has no default. The function returns an item, a
page, a model, None, or one of several items and models.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, get_args
from urllib.parse import parse_qsl

from pydantic import BaseModel, TypeAdapter

from daicho.declare.domain import Resource, Route
from daicho.declare.entity import Entity
from daicho.declare.results import VoteResult
from daicho.declare.rules.caller import Caller
from daicho.errors import DeclarationError
from daicho.items.json_pairs import dump_plainly
from daicho.web.http import responses
from daicho.web.http.operation import (
    REQUIRED,
    Call,
    Operation,
    Parameter,
    QueryKind,
    QueryVariant,
    Reply,
    list_variables,
)
from daicho.web.http.preconditions import IDEMPOTENCY_KEY, IF_MATCH, IF_NONE_MATCH, parse_version
from daicho.web.http.shared_parameters import CURSOR, LIMIT
from daicho.web.schema import models
from daicho.web.schema.model_refs import ModelRef
from daicho.web.schema.wire_types import (
    build_only,
    list_union_members,
    strip_none,
    to_text_type,
    unite_types,
)

Homes = Mapping[type[Entity], Resource]
HEADERS = {
    "idempotency_key": IDEMPOTENCY_KEY,
    "if_match": IF_MATCH,
    "if_none_match": IF_NONE_MATCH,
}
PAGING = {"limit": LIMIT, "cursor": CURSOR}
_KINDS: Mapping[str, QueryKind] = {
    "GET": "get",
    "POST": "create",
    "PUT": "replace",
    "PATCH": "change",
}
"""What a function that returns one item does, by method."""


def build_operation(tag: str, route: Route, homes: Homes) -> Operation:
    """The operation of a route.

    Raises:
        DeclarationError: the function does not take a parameter that its path names.
    """
    path, _, query = route.path.partition("?")
    query_values = dict(parse_qsl(query, keep_blank_values=True))
    signature = _Signature(route.function, path, query_values)
    returns = signature.returns
    answer = _FunctionAnswerer(route, signature, homes)
    summary = (inspect.getdoc(route.function) or route.function.__name__).split("\n")[0].rstrip(".")
    variant = QueryVariant(
        f"{tag}.{route.function.__name__}",
        summary,
        answer,
        find_model(returns),
        signature.required,
        signature.optional,
        roles=route.roles,
        kind=_choose_kind(route.method, returns, signature.body),
        entity=_name_entity(returns),
    )
    status = 204 if returns is None else 201 if _creates(route, returns) else 200
    also = {200, 201} if route.method == "PUT" and _list_entities(returns) else set()
    also |= {200, 202} if VoteResult in list_union_members(returns) else set()
    return Operation(
        route.method,
        path,
        tag,
        [variant],
        signature.variables,
        signature.headers,
        signature.body,
        status,
        also=tuple(sorted(also - {status})),
    )


def find_model(returns: Any) -> Any:
    """The model of a function's result, or a reference; an entity is shown by its reading model."""
    if isinstance(returns, type) and issubclass(returns, Entity):
        return models.refer_to_item(returns)
    if _get_page_item(returns):
        return models.refer_to_page(models.refer_to_item(_get_page_item(returns)))
    kinds = list_union_members(returns)
    if len(kinds) > 1:
        return ModelRef(unite_types, tuple(map(find_model, kinds)))
    return returns


class _Signature:
    """A function's parameters, grouped by their place in the request."""

    def __init__(
        self, function: Callable[..., Any], path: str, query_values: Mapping[str, str]
    ) -> None:
        try:
            hints = typing.get_type_hints(function, include_extras=True)
        except NameError as error:
            raise DeclarationError(
                f"{function.__name__}: {error}; "
                "import the type, or correct its name in the annotation"
            ) from error
        self.returns = hints.get("return")
        self.returns = None if self.returns is type(None) else self.returns
        self.body: type[BaseModel] | None = None
        self.names: dict[str, str] = {}
        self.body_name = self.caller_name = ""
        variables: dict[str, Parameter] = {}
        headers, required, optional = [], [], []
        for name, parameter in inspect.signature(function).parameters.items():
            hint, default = hints.get(name), parameter.default
            if name == "book" or hint is Caller:
                self.caller_name = name if hint is Caller else self.caller_name
                continue
            if isinstance(hint, type) and issubclass(hint, BaseModel):
                self.body, self.body_name = hint, name
                continue
            if name in HEADERS:
                must = default is inspect.Parameter.empty
                wire_parameter = HEADERS[name]
                headers.append(_list_required(wire_parameter) if must else wire_parameter)
            elif name in list_variables(path):
                wire_parameter = variables[name] = Parameter(name, to_text_type(hint), place="path")
            elif name in PAGING:
                wire_parameter = PAGING[name]
                optional.append(wire_parameter)
            elif name in query_values or default is inspect.Parameter.empty:
                wire_parameter = Parameter(name, strip_none(to_text_type(hint)))
                required.append(wire_parameter)
            else:
                wire_parameter = Parameter(name, strip_none(to_text_type(hint)), default=default)
                optional.append(wire_parameter)
            self.names[name] = wire_parameter.name
        for name, value in query_values.items():
            if value and name not in self.names:
                required.append(Parameter(name, build_only(value)))
        missing = {*list_variables(path), *(n for n, value in query_values.items() if not value)}
        missing -= set(self.names)
        if missing:
            raise DeclarationError(
                f"{path}: {function.__name__} takes no {sorted(missing)[0]!r}; "
                f"add it to the parameters of {function.__name__}, or remove it from the "
                "path"
            )
        self.variables = tuple(variables[name] for name in list_variables(path))
        self.headers, self.required, self.optional = (
            tuple(headers), tuple(required), tuple(optional),
        )  # fmt: skip


class _FunctionAnswerer:
    """Calls a route's function with the values of a request, and shows its result."""

    def __init__(self, route: Route, signature: _Signature, homes: Homes) -> None:
        self._route, self._signature, self._homes = route, signature, homes

    @cached_property
    def _adapters(self) -> Mapping[Any, TypeAdapter[Any]]:
        kinds = list_union_members(self._signature.returns)
        return {kind: TypeAdapter(kind) for kind in kinds if _is_plain(kind)}

    def __call__(self, call: Call) -> Reply:
        values = {name: call.values[wire] for name, wire in self._signature.names.items()}
        if self._signature.body is not None:
            values[self._signature.body_name] = call.body
        if self._signature.caller_name:
            values[self._signature.caller_name] = call.book.caller
        if "if_match" in values:
            values["if_match"] = parse_version(values["if_match"])
        return self._show(call, self._route.function(call.book, **values))

    def _show(self, call: Call, result: Any) -> Reply:
        returns: Any = self._signature.returns
        if returns is None:
            return responses.NO_CONTENT
        adapter = self._adapters.get(returns) or self._adapters.get(type(result))
        if adapter is not None:
            return Reply(_choose_status(result), dump_plainly(adapter, result))
        if not isinstance(result, Entity):
            return responses.render_page(result.items, result.cursor, result.unreadable)
        if self._route.method == "GET":
            return responses.show_item(call, result)
        return responses.show_written(result, location=self._render_location(result))

    def _render_location(self, item: Entity) -> str:
        keys, home = models.list_key_names(type(item)), self._homes.get(type(item))
        path = home.path if home else f"{self._route.path}/{{{keys[-1]}}}"
        return responses.render_location(path, (*list_variables(path), *keys), item)


def _creates(route: Route, returns: Any) -> bool:
    return route.method == "POST" and bool(_list_entities(returns))


def _choose_kind(method: str, returns: Any, body: type[BaseModel] | None) -> QueryKind:
    """What a function does, as its method, body and result show; ``custom`` if they do not."""
    if method == "GET" and _get_page_item(returns):
        return "list"
    if method != "GET" and body is None:
        return "custom"
    return _KINDS.get(method, "custom") if len(_list_entities(returns)) == 1 else "custom"


def _name_entity(returns: Any) -> str:
    """The entity of a function's items; empty without any."""
    entities = _list_entities(returns) or [_get_page_item(returns)]
    return entities[0].__name__ if len(entities) == 1 and entities[0] else ""


def _list_entities(returns: Any) -> list[type[Entity]]:
    kinds = list_union_members(returns)
    return [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Entity)]


def _choose_status(result: object) -> int:
    """202 if the vote may or may not have been counted: RFC 9110, section 15.3.3."""
    return 202 if isinstance(result, VoteResult) and result.counted == "unknown" else 200


def _get_page_item(returns: Any) -> Any:
    """The entity of ``Page[Entity]``, or None."""
    (inner, *_) = (get_args(returns) if len(list_union_members(returns)) == 1 else ()) or (None,)
    return inner if isinstance(inner, type) and issubclass(inner, Entity) else None


def _is_plain(returns: Any) -> bool:
    return returns is not None and not _list_entities(returns) and not _get_page_item(returns)


def _list_required(header: Parameter) -> Parameter:
    return Parameter(header.name, header.annotation, header.description, "header", REQUIRED)
