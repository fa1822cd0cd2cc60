"""The declarations that a domain's function queries, from its source code."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from daicho.declare.entity import EntityMeta

QUERY_MODES = ("all", "inverse", "top", "under")


def list_queries(function: Callable[..., Any]) -> list[str]:
    """The declarations that a function names, itself or through functions of its package.

    Examples: ``Artist.named``, ``Track.key.all``. A new item of an entity is ``Song.write``.
    """
    queries: dict[str, None] = {}
    seen: set[object] = set()
    _collect(function, queries, seen)
    return list(queries)


def _collect(function: Callable[..., Any], queries: dict[str, None], seen: set[object]) -> None:
    if function in seen:
        return
    seen.add(function)
    scope = vars(inspect.getmodule(function))
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    tree.body[0].decorator_list = []  # type: ignore[attr-defined]
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        for name in _list_named(node, scope, called):
            queries.setdefault(name)
        if isinstance(node, ast.Name) and inspect.isfunction(scope.get(node.id)):
            other = scope[node.id]
            if _get_package(other) == _get_package(function):
                _collect(other, queries, seen)


def _list_named(node: ast.AST, scope: dict[str, Any], called: set[int]) -> Iterator[str]:
    match node:
        case ast.Attribute(ast.Attribute(ast.Name(entity), name), mode) if mode in QUERY_MODES:
            if _declares(scope.get(entity), name):
                yield f"{entity}.{name}.{mode}"
        case ast.Attribute(ast.Name(entity), name) if id(node) in called:
            if _declares(scope.get(entity), name):
                yield f"{entity}.{name}"
        case ast.Call(ast.Name(entity)) if isinstance(scope.get(entity), EntityMeta):
            yield f"{entity}.write"


def _get_package(function: Callable[..., Any]) -> str:
    return function.__module__.rpartition(".")[0]


def _declares(entity: Any, name: str) -> bool:
    return isinstance(entity, EntityMeta) and name in entity.declarations_
