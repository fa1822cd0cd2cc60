"""The API of a `Daicho`: it takes events of API Gateway and answers each; no error escapes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools.event_handler.exceptions import NotFoundError
from aws_lambda_powertools.event_handler.openapi.exceptions import RequestValidationError
from pydantic import ValidationError

from daicho.declare.rules.caller import Caller
from daicho.errors import BeingBuilt, CheckFailed, Raced, Refusal, ThrottledError, UnavailableError
from daicho.query.access import Access
from daicho.web.console.pages import ConsolePages
from daicho.web.http import problems
from daicho.web.http.claims import COGNITO_CLAIMS, ClaimNames
from daicho.web.http.endpoint import Endpoint, to_response
from daicho.web.http.operation import Operation, Reply
from daicho.web.http.pattern_examples import collect_pattern_examples
from daicho.web.http.problems import HttpError
from daicho.web.http.request import HttpRequest
from daicho.web.http.resolver import Resolver
from daicho.web.openapi.pages import ApiPages, is_public
from daicho.web.routes.builder import build_operations
from daicho.web.routes.tenant_admin import build_admin_operations
from daicho.write.idempotency import HEADER

if TYPE_CHECKING:
    from daicho.book.book import Book
    from daicho.declare.registry import Daicho
    from daicho.tenants.lifecycle import TenantAdmin, Tenants

RETRY_AT_ONCE = {"Retry-After": "1"}

logger = logging.getLogger(__name__)


class Api:
    """Answers requests. Safe to share by threads, if the books are."""

    def __init__(
        self,
        daicho: Daicho,
        open_book: Callable[[Access], Book],
        *,
        server: str = "",
        tenants: Tenants | None = None,
        title: str = "Daicho",
        claim_names: ClaimNames = COGNITO_CLAIMS,
        console: Mapping[str, str] | None = None,
    ) -> None:
        """``open_book`` gives the book of a caller; ``server`` is the API's address.

        ``tenants``: checks whether a tenant is closed, and adds its administrator's routes.
        ``title``: the name of the API in its description. ``claim_names``: the claims of tenant,
        groups and subject; Cognito's by default. ``console``: the settings of the console; None
        for an API without one.
        """
        served = build_operations(daicho)
        administered = build_admin_operations() if tenants else []
        self.operations = [*served, *administered]
        self.resolver = Resolver()
        self._server, self._tenants, self._open_caller_book = server, tenants, open_book
        self._claim_names, self._access_rules = claim_names, daicho.access_rules
        self._entities = daicho.entities
        for operation in served:
            self._route(operation, self._open_book)
        for operation in administered:
            self._route(operation, self._open_admin)
        get_request = self.resolver.get_current_request
        pages = ApiPages(
            self.operations,
            server,
            daicho.examples,
            title,
            get_request,
            has_console=console is not None,
        )
        routes = dict(pages.list_routes())
        if console is not None:
            routes |= ConsolePages(console, title, get_request).list_routes()
        for path, page in routes.items():
            self.resolver.get(path, include_in_schema=False)(page)
        self._handle_errors()

    def __call__(self, event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        """Answer an event."""
        incoming = HttpRequest(event, self._claim_names)
        if incoming.method != "HEAD":
            return self._answer(incoming, context)
        answer = self._answer(incoming.to_get(), context)
        return {**answer, "body": "", "isBase64Encoded": False}

    def _answer(self, incoming: HttpRequest, context: Any) -> dict[str, Any]:
        try:
            if not is_public(str(incoming.event.get("rawPath"))):
                _ = incoming.tenant
            incoming.check()
        except HttpError as error:
            return _to_answer(self._to_reply(error))
        return self.resolver.answer(incoming, context)

    def _route(self, operation: Operation, open_book: Callable[[Caller], Any]) -> None:
        endpoint = Endpoint(operation, open_book, self.resolver.get_current_request)
        self.resolver.route(operation.path, operation.method, operation_id=operation.id)(endpoint)

    def _open_book(self, caller: Caller) -> Book:
        """The book of a caller whose tenant is not closed."""
        if self._tenants is not None:
            self._tenants.check_open(caller.tenant)
        return self._open_caller_book(Access(caller, self._access_rules))

    def _open_admin(self, caller: Caller) -> TenantAdmin | None:
        """What an administrator does with a whole tenant, closed or not."""
        tenants = self._tenants
        return tenants.open_admin(caller.tenant, caller.subject) if tenants else None

    def _handle_errors(self) -> None:
        answered: Mapping[type[Exception], Callable[[Any], HttpError]] = {
            HttpError: lambda error: error,
            RequestValidationError: self._make_invalid,
            ValidationError: self._make_invalid,
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

    @cached_property
    def _pattern_examples(self) -> Mapping[str, str]:
        return collect_pattern_examples(self._entities, self.operations)

    def _make_invalid(self, error: RequestValidationError | ValidationError) -> HttpError:
        return problems.from_validation(error.errors(), self._pattern_examples)

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
    kind = "idempotency-key-reused" if error.status == 422 and error.field == HEADER else error.type
    return HttpError(error.status, error.detail, named, type=kind)


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
