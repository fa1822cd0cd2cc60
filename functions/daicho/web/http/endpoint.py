"""An operation as a function; Powertools validates requests by its signature."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body, Header, Path, Query
from pydantic import BaseModel, RootModel, WrapValidator

from daicho.web.http.execution import BookOpener, Execution
from daicho.web.http.operation import REQUIRED, Operation, Parameter, Reply
from daicho.web.http.problems import HttpError
from daicho.web.http.request import HttpRequest

BODY = "body_"
PARAMETER_KINDS = {"path": Path, "query": Query, "header": Header}
KEYWORD_ONLY = inspect.Parameter.KEYWORD_ONLY


class Endpoint:
    """Answers an operation. Models are made when the first request needs them, not at the start."""

    def __init__(
        self, operation: Operation, open_book: BookOpener, get_request: Callable[[], HttpRequest]
    ) -> None:
        """``get_request`` gives the request that the calling thread answers."""
        self.operation, self._open_book, self._get_request = operation, open_book, get_request
        self.__name__ = operation.id

    @cached_property
    def _parameters(self) -> Mapping[str, Parameter]:
        """The operation's parameters by the names of the arguments that pass them."""
        operation = self.operation
        parameters = (*operation.variables, *operation.parameters.values(), *operation.headers)
        return {_name_argument(parameter): parameter for parameter in parameters}

    @cached_property
    def __signature__(self) -> inspect.Signature:
        arguments = [_make_argument(*named) for named in self._parameters.items()]
        if self.operation.body is not None:
            model: Any = self.operation.body
            reader = _make_strict_reader(model, self.operation.most_bytes)
            annotation = Annotated[model, WrapValidator(reader), Body()]
            arguments.append(inspect.Parameter(BODY, KEYWORD_ONLY, annotation=annotation))
        return inspect.Signature(arguments)

    def __call__(self, **arguments: Any) -> Response[str]:
        """Answer a request. Each of its values is valid by itself."""
        request, body = self._get_request(), arguments.get(BODY)
        execution = Execution(
            self.operation, request, self._parameters, arguments, body, self._open_book
        )
        return to_response(execution.run())


def to_response(reply: Reply) -> Response[str]:
    """A reply as a response of Powertools."""
    content_type = None if reply.body is None else reply.content_type
    return Response(reply.status, content_type, reply.body, dict(reply.headers))


def _make_argument(name: str, parameter: Parameter) -> inspect.Parameter:
    """The argument of a parameter. A missing parameter is None, unless it has a default."""
    annotation, default = parameter.annotation, parameter.default
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
    return f"{parameter.place}_{parameter.name.lower().replace('-', '_')}"


def _make_strict_reader(model: type[BaseModel], most_bytes: int) -> Callable[[Any, Any], BaseModel]:
    """Read the body's text by JSON's types, and refuse fields that the model does not have."""

    def read(text: Any, _handler: Any) -> BaseModel:
        if len(text) > most_bytes or len(text.encode()) > most_bytes:
            raise HttpError(413, f"a body here has at most {most_bytes} bytes")
        if issubclass(model, RootModel):  # any value: it has no fields of its own to be unknown
            return model.model_validate_json(text, strict=True)
        return model.model_validate_json(text, strict=True, extra="forbid")

    return read
