"""An operation as a function; Powertools validates requests by its signature."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body, Header, Path, Query
from pydantic import BaseModel, RootModel, WrapValidator

from daicho.web.http.execution import execute
from daicho.web.http.operation import REQUIRED, Call, Operation, Parameter, QueryVariant, Reply
from daicho.web.http.paging import LIMIT
from daicho.web.http.preconditions import CONDITIONS, IDEMPOTENCY_KEY
from daicho.web.http.problems import HttpError
from daicho.web.http.request import HttpRequest

if TYPE_CHECKING:
    from daicho.book.book import Book

BODY = "body_"
MAX_ANSWER_BYTES = 5_000_000
"""The limit of a page as the JSON string that Lambda makes of it: Lambda accepts 6 MB."""
PARAMETER_KINDS = {"path": Path, "query": Query, "header": Header}
BookOpener = Callable[[str], "Book"]
Keyword = inspect.Parameter.KEYWORD_ONLY


class Endpoint:
    """Answers an operation. Models are made when the first request needs them, not at the start."""

    def __init__(
        self, operation: Operation, open_book: BookOpener, current: Callable[[], HttpRequest]
    ) -> None:
        self.operation, self._open_book, self._current = operation, open_book, current
        self.__name__ = operation.id

    @cached_property
    def __signature__(self) -> inspect.Signature:
        operation = self.operation
        query = operation.parameters.values()
        given = [
            *(_make_parameter(parameter) for parameter in operation.variables),
            *(_make_parameter(parameter) for parameter in query),
            *(_make_parameter(parameter) for parameter in operation.headers),
        ]
        if operation.body is not None:
            model: Any = operation.body
            annotation = Annotated[
                model, WrapValidator(_make_strict_reader(model, operation.most_bytes)), Body()
            ]
            given.append(inspect.Parameter(BODY, Keyword, annotation=annotation))
        return inspect.Signature(given)

    def __call__(self, **values: Any) -> Response[str]:
        """Answer a request. Each of its values is valid by itself."""
        incoming, operation = self._current(), self.operation
        if operation.role and operation.role not in incoming.roles:
            raise HttpError(403, f"this takes the role {operation.role!r}")
        self._check_conditions(incoming.headers)
        self._check_address_free(values)
        choice = self._choose_variant(frozenset(incoming.query))
        parameters = (*operation.variables, *operation.parameters.values(), *operation.headers)
        named = {
            parameter.name: values[_argument_name(parameter)]
            for parameter in parameters
            if parameter.place != "query" or parameter.name in choice.allowed
        }
        key = named.get(IDEMPOTENCY_KEY.name) if operation.once else None
        request = None if key is None else incoming.to_idempotent_request(key)
        return to_response(
            execute(
                lambda: self._open_book(incoming.tenant),
                lambda book: self._answer(choice, Call(book, named, values.get(BODY))),
                request,
                lambda book, reply: choice.finish(Call(book, named, values.get(BODY)), reply),
            )
        )

    def _check_conditions(self, headers: Mapping[str, str]) -> None:
        """Refuse a change under a condition that the operation ignores.

        Raises:
            HttpError: 400, the operation takes no condition of that name.
        """
        operation = self.operation
        taken = {header.name for header in operation.headers}
        for name in CONDITIONS if operation.method != "GET" else ():
            if name.lower() in headers and name not in taken:
                detail = f"{operation.method} {operation.path} takes no {name}"
                raise HttpError(400, detail, [(name, "is not taken here")])

    def _check_address_free(self, values: Mapping[str, Any]) -> None:
        """Refuse to write an item whose address belongs to something else.

        Raises:
            HttpError: 422, something else is at this path.
        """
        if self.operation.taken:
            name = self.operation.variables[-1].name
            if str(values[name]) in self.operation.taken:
                detail = f"{values[name]!r} has no address: GET of this path shows something else"
                raise HttpError(422, detail, [(name, "is taken")])

    def _answer(self, choice: QueryVariant, call: Call) -> Reply:
        """The answer. If its items are so large that a page does not fit, the page is shorter."""
        lists = self.operation.method == "GET" and LIMIT in choice.optional
        while True:
            reply = choice.answer(call)
            limit: int = call.values[LIMIT.name] if lists else 1
            if limit == 1 or fits_in_answer(reply.body or ""):
                return reply
            call = replace(call, values={**call.values, LIMIT.name: max(1, limit // 4)})

    def _choose_variant(self, given: frozenset[str]) -> QueryVariant:
        choice = self.operation.find_variant(given)
        if choice is not None:
            return choice
        choices = self.operation.choices
        names = frozenset().union(*(variant.allowed for variant in choices))
        unknown = [(name, "unknown parameter") for name in sorted(given - names)]
        detail = "; ".join(f"unknown parameter {name!r}" for name, _ in unknown)
        if any(variant.needed for variant in choices):
            alternatives = " or ".join(
                str(variant) if variant.needed else "no parameter" for variant in choices
            )
            detail += f"{'; ' if detail else ''}ask with {alternatives}"
        raise HttpError(400, detail, unknown)


def fits_in_answer(body: str) -> bool:
    """Whether an answer is small enough for Lambda, which writes it as a JSON string."""
    if len(body) * 4 <= MAX_ANSWER_BYTES:  # no character takes more, also when it is escaped
        return True
    return len(json.dumps(body, ensure_ascii=False).encode()) <= MAX_ANSWER_BYTES


def to_response(reply: Reply) -> Response[str]:
    """A reply as a response of Powertools."""
    content_type = None if reply.body is None else reply.content_type
    return Response(reply.status, content_type, reply.body, dict(reply.headers))


def _make_parameter(parameter: Parameter) -> inspect.Parameter:
    """The argument of a parameter. A missing parameter is None, unless it has a default."""
    annotation, default = parameter.annotation, parameter.default
    if parameter.place == "path" or default is REQUIRED:
        default = inspect.Parameter.empty
    kind = PARAMETER_KINDS[parameter.place](
        alias=parameter.name if parameter.place != "path" else None,
        description=parameter.description or None,
    )
    return inspect.Parameter(
        _argument_name(parameter), Keyword, annotation=Annotated[annotation, kind], default=default
    )


def _argument_name(parameter: Parameter) -> str:
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
