"""The signature of an operation as a function, by which Powertools describes it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

from aws_lambda_powertools.event_handler.openapi.params import Body, Header, Path, Query

from daicho.web.http.operation import REQUIRED, Operation, Parameter
from daicho.web.schema.wire_types import ADDRESSABLE

BODY = "body_"
"""The argument that passes the body."""
PARAMETER_KINDS = {"path": Path, "query": Query, "header": Header}
KEYWORD_ONLY = inspect.Parameter.KEYWORD_ONLY


def make_endpoint(operation: Operation) -> Callable[..., Any]:
    """A function that Powertools takes for the one that answers an operation."""
    parameters = (*operation.variables, *operation.parameters.values(), *operation.headers)
    arguments = [_make_argument(_name_argument(each), each) for each in parameters]
    if operation.body is not None:
        annotation: Any = Annotated[operation.body, Body()]
        arguments.append(inspect.Parameter(BODY, KEYWORD_ONLY, annotation=annotation))

    def endpoint(**_arguments: Any) -> Any:
        raise NotImplementedError("a description answers no requests")

    endpoint.__name__ = operation.id
    endpoint.__signature__ = inspect.Signature(arguments)  # type: ignore[attr-defined]
    return endpoint


def _make_argument(name: str, parameter: Parameter) -> inspect.Parameter:
    """The argument of a parameter. A missing parameter is None, unless it has a default."""
    annotation, default = parameter.annotation, parameter.default
    if parameter.place == "path":
        annotation = Annotated[annotation, ADDRESSABLE]
    if parameter.place == "path" or default is REQUIRED:
        default = inspect.Parameter.empty
    kind = PARAMETER_KINDS[parameter.place](
        alias=parameter.name if parameter.place != "path" else None,
        description=parameter.description or None,
    )
    return inspect.Parameter(
        name, KEYWORD_ONLY, annotation=Annotated[annotation, kind], default=default
    )


def _name_argument(parameter: Parameter) -> str:
    """The argument's name. A body, a query and a path may contain the same names."""
    if parameter.place == "path":
        return parameter.name
    # The names of headers have no case. Query parameters may differ in nothing else.
    name = parameter.name.lower() if parameter.place == "header" else parameter.name
    return f"{parameter.place}_{name.replace('-', '_')}"
