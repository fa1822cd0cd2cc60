"""Endpoints: each answers the HTTP requests to one operation, in the steps of `Execution.run`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, RootModel, TypeAdapter, ValidationError

from daicho.declare.rules.declared_places import has_decimals
from daicho.errors import ExceedsBounds, Raced
from daicho.items.json_pairs import WrittenNumberError, check_written
from daicho.runtime.bounds import UNBOUNDED, RequestBounds
from daicho.runtime.exact_json import (
    InexactNumberError,
    RepeatedKeyError,
    count_values,
    parse_exactly,
)
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.retry import RetryBudget
from daicho.web.http import problems
from daicho.web.http.operation import REQUIRED, Call, Operation, Parameter, QueryVariant, Reply
from daicho.web.http.preconditions import IDEMPOTENCY_KEY, PRECONDITION_HEADERS
from daicho.web.http.problems import HttpError
from daicho.web.http.request import HttpRequest
from daicho.web.http.shared_parameters import LIMIT
from daicho.web.schema.wire_types import ADDRESSABLE
from daicho.write.idempotency import IdempotentRequest, StoredAnswer

if TYPE_CHECKING:
    from daicho.book.book import Book

BookOpener = Callable[[HttpRequest], "Book"]
RACE_RETRY_S = 3.0
"""How long a request is repeated whose writes fail because of concurrent writers, in seconds."""
EXTRA: Literal["forbid"] = "forbid"
"""Fields that the model of a body does not have are refused."""
MAX_ANSWER_BYTES = 5_000_000
"""The limit of a reply body once Lambda has encoded it as a JSON string: Lambda accepts 6 MB."""


class InvalidRequest(Exception):  # it is the request that is invalid
    """Values that Pydantic refuses. ``failures``: its errors; ``total``: how many there are."""

    def __init__(self, failures: Sequence[Mapping[str, Any]], total: int = 0) -> None:
        super().__init__(f"{total or len(failures)} errors")
        self.failures, self.total = failures, total


@dataclass(frozen=True)
class ParameterReader:
    """Reads and validates one parameter of requests. Its adapter is built for the first value."""

    parameter: Parameter

    def read(
        self, request: HttpRequest, variables: Mapping[str, str], failures: list[Mapping[str, Any]]
    ) -> Any:
        """The value; its default without one. What is wrong is added to ``failures``."""
        name, place = self.parameter.name, self.parameter.place
        if place == "query":
            text = request.query.get(name)
        else:
            text = variables.get(name) if place == "path" else request.headers.get(name.lower())
        if text is None:
            if place == "path" or self.parameter.default is REQUIRED:
                failures.append(_describe_missing(place, name))
            return self.parameter.default
        try:
            return self._adapter.validate_python(text)
        except ValidationError as error:
            failures += [{**each, "loc": (place, name, *each["loc"])} for each in error.errors()]
            return None

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        annotation = self.parameter.annotation
        return TypeAdapter(
            Annotated[annotation, ADDRESSABLE] if self.parameter.place == "path" else annotation
        )


def _describe_missing(*loc: str) -> Mapping[str, Any]:
    return {"type": "missing", "loc": loc, "msg": "Field required", "input": None}


class Endpoint:
    """Answers the requests to one operation.

    What they need of the operation is computed for its first request, not at start-up.
    """

    def __init__(
        self, operation: Operation, open_book: BookOpener, bounds: RequestBounds = UNBOUNDED
    ) -> None:
        """``open_book`` opens the book of a request's caller; ``bounds``: those of a body."""
        self.operation, self._open_book, self._bounds = operation, open_book, bounds

    def __call__(self, request: HttpRequest, /, **variables: str) -> Reply:
        """Answer a request.

        Raises:
            InvalidRequest: each error of the parameters, and those of the body.
            HttpError: the body is not read at all; or see `Execution.run`.
            ExceedsBounds: the body has too many members.
        """
        failures: list[Mapping[str, Any]] = []
        values = [reader.read(request, variables, failures) for reader in self._readers]
        body = None if self._body_model is None else self._read_body(request, failures)
        if failures:
            raise InvalidRequest(failures)
        return Execution(self, request, values, body, self._open_book).run()

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """All parameters of the operation, whichever query of it is selected."""
        operation = self.operation
        return (*operation.variables, *operation.parameters.values(), *operation.headers)

    @cached_property
    def keys(self) -> tuple[tuple[str, str | None], ...]:
        """Of each parameter, the key of its value in `Call.values`, and its name in a query."""
        return tuple((p.key, p.name if p.place == "query" else None) for p in self.parameters)

    @cached_property
    def roles(self) -> tuple[str, ...]:
        """The roles of which each request needs one."""
        return self.operation.roles

    @cached_property
    def refused_headers(self) -> tuple[str, ...]:
        """The precondition headers that a change would ignore, so that it refuses them."""
        if self.operation.method == "GET":
            return ()
        taken = {header.name for header in self.operation.headers}
        return tuple(name for name in PRECONDITION_HEADERS if name not in taken)

    @cached_property
    def _readers(self) -> tuple[ParameterReader, ...]:
        return tuple(map(ParameterReader, self.parameters))

    @cached_property
    def _body_model(self) -> type[BaseModel] | None:
        return self.operation.body

    @cached_property
    def _max_body_bytes(self) -> int:
        return min(self.operation.max_body_bytes, self._bounds.body_bytes)

    @cached_property
    def _has_numbers(self) -> bool:
        """Whether bodies may have numbers that are compared with what was sent."""
        return has_decimals(self._body_model, (), (Decimal, float))

    def _read_body(
        self, request: HttpRequest, failures: list[Mapping[str, Any]]
    ) -> BaseModel | None:
        """Parse the body without type coercion; refuse fields that the model does not have."""
        text, model, max_bytes = request.body, self._body_model, self._max_body_bytes
        assert model is not None  # noqa: S101  # only an operation with a body reads one
        if not text:
            failures.append(_describe_missing("body"))
            return None
        if len(text) > max_bytes or len(text.encode()) > max_bytes:
            raise HttpError(413, f"a body here has at most {max_bytes} bytes")
        if (count := count_values(text)) > (limit := self._bounds.json_values):
            detail = f"the body has {count:,} members and elements"
            raise ExceedsBounds(detail, "json_values", limit, "body")
        try:
            written = parse_exactly(text)
            # A root model has no field names to check.
            extra = None if issubclass(model, RootModel) else EXTRA
            body = model.model_validate_json(text, strict=True, extra=extra)
            if self._has_numbers:
                check_written(body, written)
        except RepeatedKeyError as error:
            raise HttpError(400, str(error), [(error.key or "body", "given twice")]) from None
        except (InexactNumberError, WrittenNumberError) as error:
            raise problems.refuse_value(error.path, str(error)) from None
        except ValidationError as error:
            if error.error_count() > problems.MAX_NAMED:  # a copy of all of them takes too long
                first = problems.read_first_errors(error)
                raise InvalidRequest(first, error.error_count()) from None
            failures += [{**each, "loc": ("body", *each["loc"])} for each in error.errors()]
            return None
        request.check_characters()  # a body with another fault has its own refusal
        return body


@dataclass(frozen=True)
class Execution:
    """The execution of one request to an operation.

    ``arguments`` holds the values of the endpoint's parameters, in their order. Each is valid on
    its own; `run` checks what depends on several of them.
    """

    endpoint: Endpoint
    request: HttpRequest
    arguments: Sequence[Any]
    body: BaseModel | None
    open_book: BookOpener

    @property
    def operation(self) -> Operation:
        """The operation that is executed."""
        return self.endpoint.operation

    def run(self) -> Reply:
        """Check the request, execute it, and return its reply.

        If a concurrent writer changed an item first, the request is executed again with a new book,
        provided that it has written nothing yet. With an Idempotency-Key all its writes are one
        transaction; without a key they need not be.

        Raises:
            HttpError: 400, 403 or 422, the operation does not accept this request.
            Raced: concurrent writers were faster in every attempt.
        """
        self._check_role(self.endpoint.roles)
        self._check_preconditions()
        self._check_path_not_reserved()
        variant = self._select_variant()
        self._check_role(variant.roles)
        values = self._select_values(variant)
        reply = self._attempt(variant, values)
        return reply or self._repeat(variant, values)

    def _attempt(self, variant: QueryVariant, values: Mapping[str, Any]) -> Reply | None:
        """Execute once; None if a concurrent writer was faster and nothing was written."""
        book = self.open_book(self.request)
        call = Call(book, values, self.body)
        key = values.get(IDEMPOTENCY_KEY.name) if self.operation.accepts_idempotency_key else None
        try:
            if key is None:
                reply = self._answer(variant, call)
            else:
                reply = self._answer_once(variant, call, self.request.to_idempotent_request(key))
        except Raced:
            if not book.has_no_writes:
                raise
            return None
        return variant.finish(call, reply) if variant.finish else reply

    def _repeat(self, variant: QueryVariant, values: Mapping[str, Any]) -> Reply:
        """Execute again, after pauses, until an attempt succeeds.

        Raises:
            Raced: concurrent writers were faster in every attempt.
        """
        for attempt in RetryBudget.for_seconds(RACE_RETRY_S).count_attempts():
            if attempt == 1:
                continue  # `run` has made this attempt: the next one follows after a pause
            reply = self._attempt(variant, values)
            if reply is not None:
                return reply
        raise Raced

    def _check_role(self, roles: tuple[str, ...]) -> None:
        """Refuse a caller that has none of these roles, with 403; everybody has none of none."""
        if roles and not self.request.caller.has_role(*roles):
            raise HttpError(403, f"this takes {' or '.join(f'the role {r!r}' for r in roles)}")

    def _check_preconditions(self) -> None:
        """Refuse a change with a precondition header that the operation would ignore, with 400."""
        for name in self.endpoint.refused_headers:
            if name.lower() in self.request.headers:
                detail = f"{self.operation.method} {self.operation.path} takes no {name}"
                raise HttpError(400, detail, [(name, "is not taken here")])

    def _check_path_not_reserved(self) -> None:
        """Refuse to write an item whose path is that of another GET operation, with 422."""
        if self.operation.reserved_values:
            place = len(self.operation.variables) - 1  # they are the first of the parameters
            name, value = self.operation.variables[place].name, self.arguments[place]
            if str(value) in self.operation.reserved_values:
                detail = f"{value!r} is reserved: GET of this path serves another operation"
                raise HttpError(422, detail, [(name, "is reserved")])

    def _select_variant(self) -> QueryVariant:
        """The variant that the request's query parameters select; 400 if there is none."""
        query_names, variants = frozenset(self.request.query), self.operation.variants
        matching = [
            variant for variant in variants if variant.needed <= query_names <= variant.allowed
        ]
        if matching:
            return max(matching, key=lambda variant: len(variant.needed))
        allowed_names = frozenset().union(*(variant.allowed for variant in variants))
        unknown = [(name, "unknown parameter") for name in sorted(query_names - allowed_names)]
        if not unknown:
            unknown = self._list_not_taken(query_names)
        detail = "; ".join(f"{message} {name!r}" for name, message in unknown)
        if any(variant.needed for variant in variants):
            alternatives = " or ".join(
                str(variant) if variant.needed else "no parameter" for variant in variants
            )
            detail += f"{'; ' if detail else ''}ask with {alternatives}"
        raise HttpError(400, detail, unknown)

    def _list_not_taken(self, query_names: frozenset[str]) -> list[tuple[str, str]]:
        """The parameters that only other queries of the path take."""
        named = [each for each in self.operation.variants if each.needed <= query_names]
        if not named:
            return []
        chosen = max(named, key=lambda variant: len(variant.needed))
        message = f"{chosen if chosen.needed else 'the list'} takes no parameter"
        return [(name, message) for name in sorted(query_names - chosen.allowed)]

    def _select_values(self, variant: QueryVariant) -> Mapping[str, Any]:
        """The values that the variant accepts, by the keys of their parameters."""
        allowed = variant.allowed
        return {
            key: value
            for (key, query), value in zip(self.endpoint.keys, self.arguments, strict=True)
            if query is None or query in allowed
        }

    def _answer_once(self, variant: QueryVariant, call: Call, request: IdempotentRequest) -> Reply:
        """The reply stored under the Idempotency-Key; without one, execute and store the reply."""
        is_repeat = True

        def answer_first() -> StoredAnswer:
            nonlocal is_repeat
            is_repeat = False
            reply = self._answer(variant, call)
            return StoredAnswer(reply.status, reply.headers, reply.body)

        stored_answer = call.book.once(request, answer_first)
        self.request.consumption.is_repeat = is_repeat
        return Reply(stored_answer.status, stored_answer.body, stored_answer.headers)

    def _answer(self, variant: QueryVariant, call: Call) -> Reply:
        """Call the variant. A page too large for Lambda is read again with a lower limit."""
        is_page = self.operation.method == "GET" and LIMIT in variant.optional
        while True:
            reply = variant.answer(call)
            if not is_page:
                return reply
            limit: int = call.values[LIMIT.name]
            if limit == 1 or fits_in_answer(reply.body or ""):
                return reply
            call = replace(call, values={**call.values, LIMIT.name: max(1, limit // 4)})


def fits_in_answer(body: str) -> bool:
    """Whether a body is small enough for Lambda, which encodes it as a JSON string."""
    if len(body) * 4 <= MAX_ANSWER_BYTES:  # at most 4 bytes a character, escaped or not
        return True
    return len(json.dumps(body, ensure_ascii=False).encode()) <= MAX_ANSWER_BYTES
