"""The API of a `Daicho`: events of API Gateway in, answers out, and nothing escapes."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError
from aws_lambda_powertools.event_handler.openapi.exceptions import RequestValidationError
from pydantic import ValidationError

from daicho.errors import Raced, Refusal, ThrottledError, UnavailableError
from daicho.web.http import problem_types, problems
from daicho.web.http.endpoint import Endpoint, response
from daicho.web.http.operation import Reply
from daicho.web.http.problems import HttpError
from daicho.web.http.request import Incoming
from daicho.web.http.resolver import Resolver
from daicho.web.routes.builder import operations
from daicho.web.routes.tenant_admin import administration
from daicho.write.idempotency import HEADER

if TYPE_CHECKING:
    from daicho.book.book import Book
    from daicho.declare.registry import Daicho
    from daicho.tenants.lifecycle import Tenants

OPEN = ("/docs", "/openapi.json", "/problems")
"""Paths without a token: the API's own description, and what stands below them."""

AT_ONCE = {"Retry-After": "1"}

HTML = "text/html; charset=utf-8"

logger = logging.getLogger(__name__)


class Api:
    """Answers requests. Safe to share by threads, if the books are."""

    def __init__(
        self,
        daicho: Daicho,
        open_book: Callable[[str], Book],
        *,
        server: str = "",
        tenants: Tenants | None = None,
    ) -> None:
        """``open_book`` gives the book of a tenant; ``server`` is the address to be called at.

        ``tenants``: whether a tenant is closed, and its administrator's routes.
        """
        served = operations(daicho)
        administered = administration() if tenants else []
        self.operations = [*served, *administered]
        self.resolver = Resolver()
        self._server = server

        def admitted(tenant: str) -> Book:
            if tenants is not None:
                tenants.check_open(tenant)
            return open_book(tenant)

        def desk(tenant: str) -> Any:
            return tenants and tenants.open_admin(tenant, self._incoming().user)

        for opener, some in ((admitted, served), (desk, administered)):
            for operation in some:
                endpoint = Endpoint(operation, opener, self._incoming)
                self.resolver.route(operation.path, operation.method, operation_id=operation.id)(
                    endpoint
                )
        self._describe(daicho)
        self._handle_errors()

    def __call__(self, event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        """Answer an event."""
        incoming = Incoming(event)
        try:
            if not _is_open(str(event.get("rawPath"))):
                _ = incoming.tenant
            incoming.check()
        except HttpError as error:
            return _plain(self._problem(error))
        return self.resolver.answer(incoming, context)

    def _describe(self, daicho: Daicho) -> None:
        """Serve the API's description, and a page to try it on: nothing of it is elsewhere."""

        @cache
        def text() -> str:
            from daicho.web.openapi.document import described  # noqa: PLC0415  # seldom asked for

            return json.dumps(
                described(self.operations, server=self._server, examples=daicho.examples)
            )

        def openapi_json() -> Response[str]:
            return Response(200, "application/json", text(), compress=True)

        def docs() -> Response[str]:
            from daicho.web.openapi.document import page  # noqa: PLC0415  # seldom asked for

            return Response(200, HTML, page(text()), compress=True)

        def problem_page(name: str) -> Response[str]:
            found = problem_types.described(name)
            if found is None:
                raise HttpError(404, f"no problem is called {name}")
            return Response(200, HTML, found)

        def all_problems() -> Response[str]:
            return Response(200, HTML, problem_types.described() or "")

        one = f"{problem_types.PATH}/{{name}}"
        pages: tuple[Callable[..., Any], ...] = (docs, openapi_json, all_problems, problem_page)
        for path, answer in zip((*OPEN, one), pages, strict=True):
            self.resolver.get(path, include_in_schema=False)(answer)

    def _incoming(self) -> Incoming:
        return self.resolver.current_event.incoming

    def _handle_errors(self) -> None:
        answered: Mapping[type[Exception], Callable[[Any], HttpError]] = {
            HttpError: lambda error: error,
            RequestValidationError: _invalid,
            ValidationError: _invalid,
            Raced: _raced,
            Refusal: _refused,
            ThrottledError: lambda error: _busy(429, error),
            UnavailableError: lambda error: _busy(503, error),
            NotFoundError: lambda _: self._nowhere(),
            Exception: self._unexpected,
        }
        for kind, said in answered.items():
            self._handle(kind, said)

    def _handle(self, kind: type[Exception], said: Callable[[Any], HttpError]) -> None:
        self.resolver.exception_handler(kind)(lambda error: response(self._problem(said(error))))

    def _problem(self, error: HttpError) -> Reply:
        return Reply(error.status, error.body(self._server), error.headers, problems.CONTENT_TYPE)

    def _nowhere(self) -> HttpError:
        event = self.resolver.current_event
        methods = self.resolver.allowed(event.path)
        if methods:
            allow = {"Allow": ", ".join(methods)}
            return HttpError(405, f"{event.path} takes {allow['Allow']}", headers=allow)
        return HttpError(404, f"nothing is at {event.path}")

    def _unexpected(self, error: Exception) -> HttpError:
        request = self._incoming().id
        logger.error("unexpected error", exc_info=error, extra={"request_id": request})
        return HttpError(500, f"unexpected error; request {request}")


def _invalid(error: RequestValidationError | ValidationError) -> HttpError:
    return problems.of_validation(error.errors())


def _refused(error: Refusal) -> HttpError:
    named = [(error.field, error.detail)] if error.field else []
    kind = "idempotency-key-reused" if error.status == 422 and error.field == HEADER else error.type
    return HttpError(error.status, error.detail, named, type=kind)


def _raced(error: Raced) -> HttpError:
    return HttpError(error.status, error.detail, headers=AT_ONCE, type=error.type)


def _busy(status: int, error: UnavailableError) -> HttpError:
    logger.warning("the table did not answer: %s", error)
    detail = "too many requests at once; try again" if status == 429 else "try again"
    return HttpError(status, detail, headers=AT_ONCE)


def _is_open(path: str) -> bool:
    return path in OPEN or path.startswith(f"{problem_types.PATH}/")


def _plain(reply: Reply) -> dict[str, Any]:
    return {
        "statusCode": reply.status,
        "headers": {"Content-Type": reply.content_type, **reply.headers},
        "body": reply.body,
        "isBase64Encoded": False,
    }
