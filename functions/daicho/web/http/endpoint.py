"""Endpoints: each answers the HTTP requests to one operation, in the steps of `Execution.run`."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from aws_lambda_powertools.event_handler import Response
from pydantic import BaseModel, RootModel, ValidationError

from daicho.declare.rules.caller import Caller
from daicho.errors import Raced
from daicho.items.json_pairs import Checker, WrittenNumberError, make_checker
from daicho.runtime.exact_json import InexactNumberError, RepeatedKeyError, parse_exactly
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.retry import RetryBudget
from daicho.web.http import problems
from daicho.web.http.operation import Call, Operation, Parameter, QueryVariant, Reply
from daicho.web.http.paging import LIMIT
from daicho.web.http.preconditions import IDEMPOTENCY_KEY, PRECONDITION_HEADERS
from daicho.web.http.problems import HttpError
from daicho.web.http.request import HttpRequest
from daicho.web.http.signature import BODY, build_signature, name_parameters
from daicho.write.idempotency import IdempotentRequest, StoredAnswer

if TYPE_CHECKING:
    from daicho.book.book import Book

BookOpener = Callable[[Caller], "Book"]
RACE_RETRY_S = 3.0
"""How long a request is repeated whose writes fail because of concurrent writers, in seconds."""
EXTRA: Literal["forbid"] = "forbid"
"""Fields that the model of a body does not have are refused."""
MAX_ANSWER_BYTES = 5_000_000
"""The limit of a reply body once Lambda has encoded it as a JSON string: Lambda accepts 6 MB."""


class BodyError(Exception):
    """A body with more errors than an answer names. Pydantic would copy all of them."""

    def __init__(self, error: ValidationError) -> None:
        super().__init__(f"{error.error_count()} errors")
        self.error = error


class Endpoint:
    """Answers the requests to one operation.

    The operation's signature is built for its first request, not at start-up.
    """

    def __init__(
        self, operation: Operation, open_book: BookOpener, get_request: Callable[[], HttpRequest]
    ) -> None:
        """``open_book`` opens the book of a caller; ``get_request`` returns the current request."""
        self.operation, self._open_book, self._get_request = operation, open_book, get_request
        self.__name__ = operation.id

    @cached_property
    def _parameters(self) -> Mapping[str, Parameter]:
        return name_parameters(self.operation)

    @cached_property
    def __signature__(self) -> inspect.Signature:
        return build_signature(self._parameters, self.operation.body, self._read_body)

    def __call__(self, /, **arguments: Any) -> Response[str]:
        """Answer a request. Powertools has validated each argument on its own by the signature."""
        request, body = self._get_request(), arguments.get(BODY)
        execution = Execution(
            self.operation, request, self._parameters, arguments, body, self._open_book
        )
        return to_response(execution.run())

    def _read_body(self, text: Any, _handler: Any) -> BaseModel:
        """Parse the body without type coercion; refuse fields that the model does not have."""
        model, max_bytes = self.operation.body, self.operation.max_body_bytes
        assert model is not None  # noqa: S101  # only a signature with a body has a reader
        if len(text) > max_bytes or len(text.encode()) > max_bytes:
            raise HttpError(413, f"a body here has at most {max_bytes} bytes")
        try:
            written = parse_exactly(text)
            # A root model has no field names to check.
            extra = None if issubclass(model, RootModel) else EXTRA
            body = model.model_validate_json(text, strict=True, extra=extra)
            if self._check_numbers is not None:
                self._check_numbers(body, written)
        except RepeatedKeyError as error:
            raise HttpError(400, str(error), [(error.key or "body", "given twice")]) from None
        except (InexactNumberError, WrittenNumberError) as error:
            raise problems.refuse_value(error.path, str(error)) from None
        except ValidationError as error:
            if error.error_count() <= problems.MAX_NAMED:
                raise  # Powertools adds the errors of the parameters
            raise BodyError(error) from None
        self._get_request().check_characters()  # a body with another fault has its own refusal
        return body

    @cached_property
    def _check_numbers(self) -> Checker | None:
        """Compares the numbers in types of a project's own with what was sent; None if none are."""
        return make_checker(self.operation.body)


@dataclass(frozen=True)
class Execution:
    """The execution of one request to an operation.

    ``arguments`` holds the values of the request, and ``parameters`` their declarations. The keys
    of both are the Python argument names of `signature.name_parameters`, such as ``query_limit``.
    Each value is valid on its own; `run` checks what depends on several of them.
    """

    operation: Operation
    request: HttpRequest
    parameters: Mapping[str, Parameter]
    arguments: Mapping[str, Any]
    body: BaseModel | None
    open_book: BookOpener

    def run(self) -> Reply:
        """Check the request, execute it, and return its reply.

        If a concurrent writer changed an item first, the request is executed again with a new book,
        provided that it has written nothing yet. With an Idempotency-Key all its writes are one
        transaction; without a key they need not be.

        Raises:
            HttpError: 400, 403 or 422, the operation does not accept this request.
            Raced: concurrent writers were faster in every attempt.
        """
        self._check_role(self.operation.roles)
        self._check_preconditions()
        self._check_path_not_reserved()
        variant = self._select_variant()
        self._check_role(variant.roles)
        values = self._select_values(variant)
        reply = self._attempt(variant, values)
        return reply or self._repeat(variant, values)

    def _attempt(self, variant: QueryVariant, values: Mapping[str, Any]) -> Reply | None:
        """Execute once; None if a concurrent writer was faster and nothing was written."""
        book = self.open_book(self.request.caller)
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
        operation = self.operation
        if operation.method == "GET":
            return
        header_names = {header.name for header in operation.headers}
        for name in PRECONDITION_HEADERS:
            if name.lower() in self.request.headers and name not in header_names:
                detail = f"{operation.method} {operation.path} takes no {name}"
                raise HttpError(400, detail, [(name, "is not taken here")])

    def _check_path_not_reserved(self) -> None:
        """Refuse to write an item whose path is that of another GET operation, with 422."""
        if self.operation.reserved_values:
            name = self.operation.variables[-1].name
            if str(self.arguments[name]) in self.operation.reserved_values:
                detail = (
                    f"{self.arguments[name]!r} is reserved: "
                    "GET of this path serves another operation"
                )
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
            parameter.key: self.arguments[argument]
            for argument, parameter in self.parameters.items()
            if parameter.place != "query" or parameter.name in allowed
        }

    def _answer_once(self, variant: QueryVariant, call: Call, request: IdempotentRequest) -> Reply:
        """The reply stored under the Idempotency-Key; without one, execute and store the reply."""

        def answer_first() -> StoredAnswer:
            reply = self._answer(variant, call)
            return StoredAnswer(reply.status, reply.headers, reply.body)

        stored_answer = call.book.once(request, answer_first)
        return Reply(stored_answer.status, stored_answer.body, stored_answer.headers)

    def _answer(self, variant: QueryVariant, call: Call) -> Reply:
        """Call the variant. A page too large for Lambda is read again with a lower limit."""
        is_page = self.operation.method == "GET" and LIMIT in variant.optional
        while True:
            reply = variant.answer(call)
            limit: int = call.values[LIMIT.name] if is_page else 1
            if limit == 1 or fits_in_answer(reply.body or ""):
                return reply
            call = replace(call, values={**call.values, LIMIT.name: max(1, limit // 4)})


def to_response(reply: Reply) -> Response[str]:
    """Convert a reply to a response of Powertools."""
    content_type = None if reply.body is None else reply.content_type
    return Response(reply.status, content_type, reply.body, dict(reply.headers))


def fits_in_answer(body: str) -> bool:
    """Whether a body is small enough for Lambda, which encodes it as a JSON string."""
    if len(body) * 4 <= MAX_ANSWER_BYTES:  # at most 4 bytes a character, escaped or not
        return True
    return len(json.dumps(body, ensure_ascii=False).encode()) <= MAX_ANSWER_BYTES
