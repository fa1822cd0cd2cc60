"""The routes that query each declaration: pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from daicho.declare.domain import find_total_count
from daicho.declare.registry import Daicho
from daicho.web import routes
from daicho.web.http.operation import Operation, QueryVariant
from daicho_cli.generate.route_queries import list_queries


def list_declaration_routes(daicho: Daicho) -> dict[str, tuple[str, ...]]:
    """The routes by declaration: ``{"User.search": ("GET /users?name=",)}``.

    They are those that answer with the declaration, the domains' functions that query it, and
    creations that are refused above a number of items.

    Raises:
        DeclarationError: a route cannot be mounted.
    """
    functions = {
        f"{domain.name}.{route.function.__name__}": list_queries(route.function)
        for domain in daicho.domains
        for route in domain.routes
    }
    counted = {
        f"{resource.entity.__name__}.POST": find_total_count(resource.entity)
        for domain in daicho.domains
        for resource in domain.resources
        if resource.max_items is not None
    }
    found: dict[str, dict[str, None]] = {}
    for operation in routes.build_operations(daicho):
        for variant in operation.variants:
            for declaration in _list_declarations(variant, functions, counted):
                found.setdefault(declaration, {})[_render_route(operation, variant)] = None
    return {declaration: tuple(names) for declaration, names in found.items()}


def _list_declarations(
    variant: QueryVariant,
    functions: Mapping[str, list[str]],
    counted: Mapping[str, str | None],
) -> Iterator[str]:
    """The declarations that a query reads: ``Entity.declaration``, without the mode of the query.

    Verbs and keys are among them: they are no names of declarations that are derived.
    """
    for query in functions.get(variant.name, [variant.name]):
        yield ".".join(query.split(".")[:2])
    if count := counted.get(variant.name):
        yield f"{variant.name.partition('.')[0]}.{count}"


def _render_route(operation: Operation, variant: QueryVariant) -> str:
    parameters = str(variant) if variant.required else ""
    return f"{operation.method} {operation.path}{parameters}"
