"""An HTTP API behind API Gateway: operations are answered, and every error becomes a problem."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

from pydantic import ValidationError

from daicho.errors import (
    CheckFailed,
    Refusal,
    ThrottledError,
    UnavailableError,
    UnreadableError,
)
from daicho.runtime.bounds import UNBOUNDED, RequestBounds
from daicho.runtime.metrics import emit_damage
from daicho.runtime.token_claims import ClaimNames
from daicho.web.http import problems
from daicho.web.http.endpoint import BookOpener, Endpoint, InvalidRequest
from daicho.web.http.operation import Operation, Reply
from daicho.web.http.preconditions import add_lineage
from daicho.web.http.problems import NO_EXAMPLES, HttpError
from daicho.web.http.request import HttpRequest
from daicho.web.http.routing import Routes

DEFAULT_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
"""Of every answer that states nothing else: data is stored by no cache, and is never a page."""

logger = logging.getLogger(__name__)


class HttpApi:
    """Answers requests; no error escapes. A subclass decides who may send them.

    ``server``: the API's address. ``claim_names``: the claims of tenant and groups.
    ``lineage``: see `HttpRequest`. ``bounds``: those of bodies.
    """

    request_type: ClassVar[type[HttpRequest]] = HttpRequest

    def __init__(
        self,
        server: str,
        claim_names: ClaimNames,
        lineage: str = "",
        bounds: RequestBounds = UNBOUNDED,
    ) -> None:
        self.routes = Routes()
        self._server, self._claim_names, self._lineage = server, claim_names, lineage
        self._bounds = bounds

    def __call__(self, event: Mapping[str, Any], _context: Any) -> dict[str, Any]:
        """Answer an event."""
        incoming = self.request_type(event, self._claim_names, self._lineage)
        is_head = incoming.method == "HEAD"
        reply = self.answer(incoming.to_get() if is_head else incoming)
        kind = {} if reply.body is None else {"Content-Type": reply.content_type}
        if self._lineage and "ETag" in reply.headers:
            kind["ETag"] = add_lineage(reply.headers["ETag"], self._lineage)
        return {
            "statusCode": reply.status,
            "headers": {**DEFAULT_HEADERS, **reply.headers, **kind},
            "body": "" if is_head else reply.body,
            "isBase64Encoded": reply.is_base64 and not is_head,
        }

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
            endpoint = Endpoint(operation, open_book, self._bounds)
            self.routes.add(operation.method, operation.path, endpoint)

    def answer(self, request: HttpRequest) -> Reply:
        """Answer a request; every error is a problem."""
        try:
            self.check_access(request)
            request.check()
            found = self.routes.find(request.method, request.path)
            if found is None:
                raise self._make_not_found(request.path)
            answer, variables = found
            reply = answer(request, **variables)
            if reply.unreadable:
                emit_damage(len(reply.unreadable))
            return reply
        except Exception as error:
            problem = self._explain(error, request)
            return Reply(
                problem.status,
                problem.render_body(self._server),
                problem.headers,
                problems.CONTENT_TYPE,
            )

    def _explain(self, error: Exception, request: HttpRequest) -> HttpError:
        """The problem that an error is answered with."""
        match error:
            case HttpError():
                return error
            case InvalidRequest():
                return problems.from_validation(error.failures, self.pattern_examples, error.total)
            case ValidationError():
                return problems.from_validation(error.errors(), self.pattern_examples)
            case Refusal():
                return _to_refused(error)
            case ThrottledError():
                return _to_busy(429, error)
            case UnavailableError():
                return _to_busy(503, error)
            case UnreadableError():
                logger.error("an item cannot be read", exc_info=error)
                emit_damage(1)
                return _to_unreadable(error)
        logger.error("unexpected error", exc_info=error, extra={"request_id": request.id})
        return HttpError(500, f"unexpected error; request {request.id}")

    def _make_not_found(self, path: str) -> HttpError:
        methods = self.routes.list_methods(path)
        if methods:
            allow = {"Allow": ", ".join(methods)}
            return HttpError(405, f"{path} takes {allow['Allow']}", headers=allow)
        return HttpError(404, f"nothing is at {path}")


def _to_refused(error: Refusal) -> HttpError:
    named = [(error.field, error.detail)] if error.field else []
    named = list(error.failures) if isinstance(error, CheckFailed) else named
    headers = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
    return HttpError(error.status, error.detail, named, headers, error.type)


def _to_unreadable(error: UnreadableError) -> HttpError:
    named = [(error.field, error.fault)] if error.field else []
    headers = {} if error.tag is None else {"ETag": f'"{error.tag}"'}
    return HttpError(409, error.detail, named, headers, "unreadable")


def _to_busy(status: int, error: UnavailableError) -> HttpError:
    logger.warning("the table did not answer: %s", error)
    detail = "too many requests at once; try again" if status == 429 else "try again"
    return HttpError(status, detail, headers={"Retry-After": "1"})
