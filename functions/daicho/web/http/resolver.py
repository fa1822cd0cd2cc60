"""Powertools' resolver, with the features that it lacks.

- A path's variables match anything but a slash: its own pattern refuses quotes, ``#``, emoji.
  They are not percent-decoded: an HTTP API has done it (ADR 0043).
- Query parameters and headers are not split at commas.
- One resolver serves several threads: its own keeps the event on a class.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from functools import cached_property
from typing import Any, cast

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2
from aws_lambda_powertools.utilities.data_classes.common import CaseInsensitiveDict

from daicho.web.http.operation import VARIABLE
from daicho.web.http.request import HttpRequest


class Event(APIGatewayProxyEventV2):
    """An event whose parameters and headers are read as they were sent."""

    @property
    def incoming(self) -> HttpRequest:
        """The request."""
        return cast(HttpRequest, self["_incoming"])

    @property
    def decoded_body(self) -> str | None:
        """The body as text, however the gateway has encoded it."""
        return self.incoming.body or None

    @property
    def resolved_query_string_parameters(self) -> dict[str, Any]:
        """One value a name, commas and all."""
        return dict(self.incoming.query)

    @cached_property
    def headers(self) -> dict[str, str]:
        """The headers; the type of the body is JSON, or `HttpRequest.check` has refused it."""
        headers = {**self.incoming.headers, "content-type": "application/json"}
        return cast(dict[str, str], CaseInsensitiveDict(headers))  # type: ignore[no-untyped-call]

    @property
    def resolved_headers_field(self) -> dict[str, Any]:
        """One value a name, commas and all."""
        return self.headers


class PathPattern:
    """The pattern of a route's path, compiled for the first request that may match it.

    An instance of the API answers requests to some of its routes only.
    """

    def __init__(self, rule: str) -> None:
        self._rule = rule
        self.groups = len(VARIABLE.findall(rule))
        self._head = rule.partition("{")[0]
        self._slashes = rule.count("/")

    def match(self, path: str) -> re.Match[str] | None:
        """The match of a whole path, with the values of its variables; or None."""
        # A variable has no slash, so most paths differ in their beginning or their slashes.
        if not path.startswith(self._head) or path.count("/") != self._slashes:
            return None
        return self._pattern.match(path)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        pattern, at = "", 0
        for variable in VARIABLE.finditer(self._rule):
            pattern += re.escape(self._rule[at : variable.start()]) + f"(?P<{variable[1]}>[^/]+)"
            at = variable.end()
        return re.compile(rf"{pattern}{re.escape(self._rule[at:])}\Z", re.DOTALL)


class Resolver(APIGatewayHttpResolver):
    """The resolver of this API. A body is not parsed here: its model reads the text."""

    def __init__(self) -> None:
        self._thread = threading.local()
        super().__init__(enable_validation=True, json_body_deserializer=cast(Any, str))

    @property
    def current_event(self) -> Event:  # type: ignore[override]
        """The event that this thread processes."""
        return cast(Event, self._thread.event)

    def get_current_request(self) -> HttpRequest:
        """The request that this thread answers."""
        return cast(HttpRequest, self._thread.event["_incoming"])

    @property
    def context(self) -> dict[str, Any]:
        """Powertools' context for the request of this thread."""
        return cast(dict[str, Any], self._thread.__dict__.setdefault("context", {}))

    @context.setter
    def context(self, value: dict[str, Any]) -> None:
        self._thread.context = value

    def answer(self, incoming: HttpRequest, context: Any) -> dict[str, Any]:
        """Route a request and answer it."""
        return self.resolve({**incoming.event, "_incoming": incoming}, context)

    def list_allowed_methods(self, path: str) -> list[str]:
        """The methods that a path has. A HEAD request is answered wherever GET is."""
        routes = (*self._static_routes, *self._dynamic_routes)
        methods = {route.method for route in routes if route.rule.match(path)}
        return sorted({*methods, "HEAD"} if "GET" in methods else methods)

    @cached_property
    def _routes_by_shape(self) -> Mapping[tuple[str, int], list[Any]]:
        """The routes in order, by method and number of slashes: no variable has a slash."""
        routes: dict[tuple[str, int], list[Any]] = {}
        for route in (*self._static_routes, *self._dynamic_routes):
            routes.setdefault((route.method, route.path.count("/")), []).append(route)
        return routes

    def _resolve(self) -> Any:
        # Powertools' own tries the pattern of every route: 9 % of a GET, at 171 routes (ADR 0042).
        event = self.current_event
        method, path = event.http_method.upper(), event.path
        for route in self._routes_by_shape.get((method, path.count("/")), ()):
            match = route.rule.match(path)
            if match:
                self.append_context(_route=route, _path=path)  # type: ignore[no-untyped-call]
                return self._call_route(route, match.groupdict())
        return self._handle_not_found(method=method, path=path)

    def _to_proxy_event(self, event: Mapping[str, Any]) -> Event:
        self._thread.event = Event(dict(event), self._json_body_deserializer)
        return self.current_event

    @staticmethod
    def _compile_regex(rule: str, base_regex: str = "") -> re.Pattern[str]:
        if rule == ".*":  # the rule that Powertools uses for an unknown path
            return re.compile(rule)
        return cast("re.Pattern[str]", PathPattern(rule))
