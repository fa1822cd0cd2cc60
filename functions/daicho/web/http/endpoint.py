"""Endpoints: each answers the requests of one operation, in the steps of `Execution.run`."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools.event_handler import Response
from pydantic import BaseModel, RootModel

from daicho.errors import Raced
from daicho.runtime.retry import RetryBudget
from daicho.web.http.operation import Call, Operation, Parameter, QueryVariant, Reply
from daicho.web.http.paging import LIMIT
from daicho.web.http.preconditions import CONDITIONS, IDEMPOTENCY_KEY
from daicho.web.http.problems import HttpError
from daicho.web.http.request import HttpRequest
from daicho.web.http.signature import BODY, build_signature, name_parameters
from daicho.write.idempotency import IdempotentRequest, StoredAnswer

if TYPE_CHECKING:
    from daicho.book.book import Book

BookOpener = Callable[[str], "Book"]
RACE_RETRY_S = 3.0
"""How long a request that loses races is tried again."""
MAX_ANSWER_BYTES = 5_000_000
"""The limit of a page as the JSON string that Lambda makes of it: Lambda accepts 6 MB."""


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
        return name_parameters(self.operation)

    @cached_property
    def __signature__(self) -> inspect.Signature:
        return build_signature(self._parameters, self.operation.body, self._read_body)

    def __call__(self, **arguments: Any) -> Response[str]:
        """Answer a request. Each of its values is valid by itself."""
        request, body = self._get_request(), arguments.get(BODY)
        execution = Execution(
            self.operation, request, self._parameters, arguments, body, self._open_book
        )
        return to_response(execution.run())

    def _read_body(self, text: Any, _handler: Any) -> BaseModel:
        """Read the body's text by JSON's types; refuse fields that the model does not have."""
        model, most_bytes = self.operation.body, self.operation.most_bytes
        assert model is not None  # noqa: S101  # only a signature with a body has a reader
        if len(text) > most_bytes or len(text.encode()) > most_bytes:
            raise HttpError(413, f"a body here has at most {most_bytes} bytes")
        if issubclass(model, RootModel):  # any value: it has no fields of its own to be unknown
            return model.model_validate_json(text, strict=True)
        return model.model_validate_json(text, strict=True, extra="forbid")


@dataclass(frozen=True)
class Execution:
    """One request to an operation.

    ``arguments`` are its values, each valid by itself, and ``parameters`` what they are values of,
    both by the names of the endpoint's arguments. ``open_book`` gives the book of a tenant.
    """

    operation: Operation
    request: HttpRequest
    parameters: Mapping[str, Parameter]
    arguments: Mapping[str, Any]
    body: BaseModel | None
    open_book: BookOpener

    def run(self) -> Reply:
        """The reply of the request.

        After a lost race the request starts again with a book that has read nothing, as long as it
        has written nothing. With an Idempotency-Key all its writes are one transaction; without a
        key they may be.

        Raises:
            HttpError: 400, 403 or 422, the operation does not take this request.
            Raced: others were faster, again and again.
        """
        self._check_role()
        self._check_conditions()
        self._check_address_free()
        variant = self._select_variant()
        values = self._select_values(variant)
        reply = self._attempt(variant, values)
        return reply or self._repeat(variant, values)

    def _attempt(self, variant: QueryVariant, values: Mapping[str, Any]) -> Reply | None:
        """The reply; None if others were faster, and nothing was written."""
        book = self.open_book(self.request.tenant)
        call = Call(book, values, self.body)
        key = values.get(IDEMPOTENCY_KEY.name) if self.operation.once else None
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
        """The reply after a lost race.

        Raises:
            Raced: others were faster, again and again.
        """
        for attempt in RetryBudget.for_seconds(RACE_RETRY_S).count_attempts():
            reply = self._attempt(variant, values) if attempt > 1 else None  # the first was lost
            if reply is not None:
                return reply
        raise Raced

    def _check_role(self) -> None:
        """Refuse a caller without the operation's role, with 403."""
        role = self.operation.role
        if role and role not in self.request.roles:
            raise HttpError(403, f"this takes the role {role!r}")

    def _check_conditions(self) -> None:
        """Refuse a change under a condition that the operation ignores, with 400."""
        operation = self.operation
        if operation.method == "GET":
            return
        header_names = {header.name for header in operation.headers}
        for name in CONDITIONS:
            if name.lower() in self.request.headers and name not in header_names:
                detail = f"{operation.method} {operation.path} takes no {name}"
                raise HttpError(400, detail, [(name, "is not taken here")])

    def _check_address_free(self) -> None:
        """Refuse to write an item whose address belongs to something else, with 422."""
        if self.operation.taken:
            name = self.operation.variables[-1].name
            if str(self.arguments[name]) in self.operation.taken:
                detail = (
                    f"{self.arguments[name]!r} has no address: "
                    "GET of this path shows something else"
                )
                raise HttpError(422, detail, [(name, "is taken")])

    def _select_variant(self) -> QueryVariant:
        """The query that the request's parameters select; 400 if there is none."""
        query_names, variants = frozenset(self.request.query), self.operation.variants
        fitting = [
            variant for variant in variants if variant.needed <= query_names <= variant.allowed
        ]
        if fitting:
            return max(fitting, key=lambda variant: len(variant.needed))
        names = frozenset().union(*(variant.allowed for variant in variants))
        unknown = [(name, "unknown parameter") for name in sorted(query_names - names)]
        detail = "; ".join(f"unknown parameter {name!r}" for name, _ in unknown)
        if any(variant.needed for variant in variants):
            alternatives = " or ".join(
                str(variant) if variant.needed else "no parameter" for variant in variants
            )
            detail += f"{'; ' if detail else ''}ask with {alternatives}"
        raise HttpError(400, detail, unknown)

    def _select_values(self, variant: QueryVariant) -> Mapping[str, Any]:
        """The values of the request by their names on the wire, as the variant takes them."""
        allowed = variant.allowed
        return {
            parameter.name: self.arguments[argument]
            for argument, parameter in self.parameters.items()
            if parameter.place != "query" or parameter.name in allowed
        }

    def _answer_once(self, variant: QueryVariant, call: Call, identity: IdempotentRequest) -> Reply:
        """The reply that is stored under the Idempotency-Key, or a first one, which is stored."""

        def answer_first() -> StoredAnswer:
            reply = self._answer(variant, call)
            return StoredAnswer(reply.status, reply.headers, reply.body)

        stored_answer = call.book.once(identity, answer_first)
        return Reply(stored_answer.status, stored_answer.body, stored_answer.headers)

    def _answer(self, variant: QueryVariant, call: Call) -> Reply:
        """The answer. If its items are so large that a page does not fit, the page is shorter."""
        is_page = self.operation.method == "GET" and LIMIT in variant.optional
        while True:
            reply = variant.answer(call)
            limit: int = call.values[LIMIT.name] if is_page else 1
            if limit == 1 or fits_in_answer(reply.body or ""):
                return reply
            call = replace(call, values={**call.values, LIMIT.name: max(1, limit // 4)})


def to_response(reply: Reply) -> Response[str]:
    """A reply as a response of Powertools."""
    content_type = None if reply.body is None else reply.content_type
    return Response(reply.status, content_type, reply.body, dict(reply.headers))


def fits_in_answer(body: str) -> bool:
    """Whether an answer is small enough for Lambda, which writes it as a JSON string."""
    if len(body) * 4 <= MAX_ANSWER_BYTES:  # no character takes more, also when it is escaped
        return True
    return len(json.dumps(body, ensure_ascii=False).encode()) <= MAX_ANSWER_BYTES
