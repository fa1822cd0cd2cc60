"""An HTTP API behind API Gateway: operations are answered, and every error becomes a problem."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

from aws_lambda_powertools.event_handler.exceptions import NotFoundError
from aws_lambda_powertools.event_handler.openapi.exceptions import RequestValidationError
from pydantic import ValidationError

from daicho.errors import BeingBuilt, CheckFailed, Raced, Refusal, ThrottledError, UnavailableError
from daicho.web.http import problems
from daicho.web.http.claims import COGNITO_CLAIMS, ClaimNames
from daicho.web.http.endpoint import BodyError, BookOpener, Endpoint, to_response
from daicho.web.http.operation import Operation, Reply
from daicho.web.http.problems import NO_EXAMPLES, HttpError
from daicho.web.http.request import HttpRequest
from daicho.web.http.resolver import Resolver

RETRY_AT_ONCE = {"Retry-After": "1"}
DEFAULT_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
"""Of every answer that states nothing else: data is stored by no cache, and is never a page."""

logger = logging.getLogger(__name__)


class HttpApi:
    """Answers requests; no error escapes. A subclass decides who may send them.

    ``server``: the API's address. ``claim_names``: the claims of tenant, groups and subject.
    """

    request_type: ClassVar[type[HttpRequest]] = HttpRequest

    def __init__(self, server: str = "", claim_names: ClaimNames = COGNITO_CLAIMS) -> None:
        self.resolver = Resolver()
        self._server, self._claim_names = server, claim_names
        self._handle_errors()

    def __call__(self, event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        """Answer an event."""
        incoming = self.request_type(event, self._claim_names)
        is_head = incoming.method == "HEAD"
        answer = self._answer(incoming.to_get() if is_head else incoming, context)
        answer["headers"] = {**DEFAULT_HEADERS, **answer["headers"]}
        return {**answer, "body": "", "isBase64Encoded": False} if is_head else answer

    def check_access(self, incoming: HttpRequest) -> None:
        """Refuse a request before it is routed.

        Raises:
            HttpError: 403.
        """
        raise NotImplementedError

    @cached_property
    def pattern_examples(self) -> Mapping[str, str]:
        """Text that matches a pattern, by the pattern: messages show it instead."""
        return NO_EXAMPLES

    def route(self, operations: Sequence[Operation], open_book: BookOpener) -> None:
        """Serve operations; ``open_book`` opens what their answerers get."""
        for operation in operations:
            endpoint = Endpoint(operation, open_book, self.resolver.get_current_request)
            route = self.resolver.route(operation.path, operation.method, operation_id=operation.id)
            route(endpoint)

    def _answer(self, incoming: HttpRequest, context: Any) -> dict[str, Any]:
        try:
            self.check_access(incoming)
            incoming.check()
        except HttpError as error:
            return _to_answer(self._to_reply(error))
        return self.resolver.answer(incoming, context)

    def _handle_errors(self) -> None:
        answered: Mapping[type[Exception], Callable[[Any], HttpError]] = {
            HttpError: lambda error: error,
            RequestValidationError: self._make_invalid,
            ValidationError: self._make_invalid,
            BodyError: self._make_invalid_body,
            Raced: _to_raced,
            BeingBuilt: _to_being_built,
            Refusal: _to_refused,
            ThrottledError: lambda error: _to_busy(429, error),
            UnavailableError: lambda error: _to_busy(503, error),
            NotFoundError: lambda _: self._make_not_found(),
            Exception: self._make_unexpected,
        }
        for kind, converter in answered.items():
            self._handle(kind, converter)

    def _handle(self, kind: type[Exception], converter: Callable[[Any], HttpError]) -> None:
        self.resolver.exception_handler(kind)(
            lambda error: to_response(self._to_reply(converter(error)))
        )

    def _to_reply(self, error: HttpError) -> Reply:
        return Reply(
            error.status, error.render_body(self._server), error.headers, problems.CONTENT_TYPE
        )

    def _make_invalid(self, error: RequestValidationError | ValidationError) -> HttpError:
        return problems.from_validation(error.errors(), self.pattern_examples)

    def _make_invalid_body(self, error: BodyError) -> HttpError:
        first, count = problems.read_first_errors(error.error), error.error.error_count()
        return problems.from_validation(first, self.pattern_examples, count)

    def _make_not_found(self) -> HttpError:
        event = self.resolver.current_event
        methods = self.resolver.list_allowed_methods(event.path)
        if methods:
            allow = {"Allow": ", ".join(methods)}
            return HttpError(405, f"{event.path} takes {allow['Allow']}", headers=allow)
        return HttpError(404, f"nothing is at {event.path}")

    def _make_unexpected(self, error: Exception) -> HttpError:
        request = self.resolver.get_current_request().id
        logger.error("unexpected error", exc_info=error, extra={"request_id": request})
        return HttpError(500, f"unexpected error; request {request}")


def _to_refused(error: Refusal) -> HttpError:
    named = [(error.field, error.detail)] if error.field else []
    named = list(error.failures) if isinstance(error, CheckFailed) else named
    return HttpError(error.status, error.detail, named, type=error.type)


def _to_being_built(error: BeingBuilt) -> HttpError:
    headers = {"Retry-After": str(error.retry_after)}
    return HttpError(error.status, error.detail, headers=headers, type=error.type)


def _to_raced(error: Raced) -> HttpError:
    return HttpError(error.status, error.detail, headers=RETRY_AT_ONCE, type=error.type)


def _to_busy(status: int, error: UnavailableError) -> HttpError:
    logger.warning("the table did not answer: %s", error)
    detail = "too many requests at once; try again" if status == 429 else "try again"
    return HttpError(status, detail, headers=RETRY_AT_ONCE)


def _to_answer(reply: Reply) -> dict[str, Any]:
    return {
        "statusCode": reply.status,
        "headers": {"Content-Type": reply.content_type, **reply.headers},
        "body": reply.body,
        "isBase64Encoded": False,
    }
