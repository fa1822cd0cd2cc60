"""The API of a `Daicho`: it takes events of API Gateway and answers each; no error escapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, cast

from daicho.declare.rules.caller import Caller
from daicho.errors import OverQuota
from daicho.query.access import Access
from daicho.runtime.bounds import UNBOUNDED, RequestBounds
from daicho.runtime.token_claims import COGNITO_CLAIMS, ClaimNames
from daicho.web.console.pages import ConsolePages
from daicho.web.http.pattern_examples import collect_pattern_examples
from daicho.web.http.request import HttpRequest
from daicho.web.http_api import HttpApi
from daicho.web.openapi.pages import PUBLIC_FOLDERS, PUBLIC_PATHS, ApiPages
from daicho.web.openapi.static_page import serve_page
from daicho.web.routes.builder import build_operations
from daicho.web.routes.tenant.operations import build_admin_operations
from daicho.web.routes.tenant.session import TenantSession

if TYPE_CHECKING:
    from daicho.book.book import Book
    from daicho.declare.registry import Daicho
    from daicho.storage.attributes import Image
    from daicho.tenants.archive_source import ArchiveSource
    from daicho.tenants.lifecycle import Tenants
    from daicho.tenants.quota import Excess
    from daicho.web.http.endpoint import BookOpener
    from daicho.web.http.operation import Reply


def is_public(path: str) -> bool:
    """Whether a path needs no token."""
    return path in PUBLIC_PATHS or path.startswith(PUBLIC_FOLDERS)


class Api(HttpApi):
    """Answers requests. Safe to share by threads, if the books are."""

    def __init__(  # noqa: PLR0913  # what the composition root decides
        self,
        daicho: Daicho,
        open_book: Callable[[Access], Book],
        *,
        server: str = "",
        tenants: Tenants | None = None,
        title: str = "Daicho",
        claim_names: ClaimNames = COGNITO_CLAIMS,
        console: Mapping[str, str] | None = None,
        archive: ArchiveSource | None = None,
        lineage: str = "",
        bounds: RequestBounds = UNBOUNDED,
    ) -> None:
        """``open_book`` gives the book of a caller; ``server`` is the API's address.

        ``tenants``: checks whether a tenant is closed or over its quota, and adds the routes of a
        whole tenant.
        ``title``: the name of the API in its description. ``claim_names``: the claims of tenant
        and groups; Cognito's by default. ``console``: the settings of the console; None
        for an API without one. ``archive``: what its routes read; None for an API that has
        none. ``lineage``: of a table that was taken over, see `HttpRequest`. ``bounds``: those of
        bodies; the books have their own.
        """
        super().__init__(server, claim_names, lineage, bounds)
        served = build_operations(daicho)
        administered = build_admin_operations(daicho) if tenants else []
        self.operations = [*served, *administered]
        self._tenants, self._open_caller_book = tenants, open_book
        self._archive, self._quotas = archive, tenants.quotas if tenants else None
        self._access_rules, self._entities = daicho.access_rules, daicho.entities
        self.route(served, self._open_book)
        self.route(administered, cast("BookOpener", self._open_session))
        has_console = console is not None
        pages = ApiPages(self.operations, server, daicho.examples, title, has_console=has_console)
        routes = dict(pages.list_routes())
        if console is not None:
            routes |= ConsolePages(console, title, claim_names).list_routes()
        for path, find in routes.items():
            self.routes.add("GET", path, serve_page(find))

    def check_access(self, incoming: HttpRequest) -> None:
        """Refuse a token without a tenant, and a tenant that is over its quota.

        The description of the API needs no token.
        """
        if is_public(str(incoming.event.get("rawPath"))):
            return
        tenant = incoming.tenant
        if self._quotas is None:
            return
        if excess := self._quotas.check(tenant):
            raise _build_refusal(excess)
        incoming.consumption.is_admitted = True

    def answer(self, request: HttpRequest) -> Reply:
        """Answer a request, and charge what it has consumed to the quota of its tenant."""
        reply = super().answer(request)
        consumption = request.consumption
        if self._quotas is not None and consumption.is_admitted:
            consumed = consumption.sum_up(request.event.get("body") or "", reply.body or "")
            self._quotas.charge(request.tenant, *consumed)
        return reply

    @cached_property
    def pattern_examples(self) -> Mapping[str, str]:
        """From the examples of the entities and of the operations."""
        return collect_pattern_examples(self._entities, self.operations)

    def _open_book(self, request: HttpRequest) -> Book:
        """The book of a caller whose tenant is not closed."""
        caller = request.caller
        if self._tenants is not None:
            self._tenants.check_open(caller.tenant)
        book = self._open_caller_book(self._open_access(caller))
        if self._tenants is not None:
            book.start_cascade = partial(self._start_cascade, request)
        if self._quotas is not None:
            request.consumption.books.append(book)
            if excess := self._quotas.find_full(caller.tenant):
                book.refuse_creations(_build_refusal(excess))
        return book

    def _open_session(self, request: HttpRequest) -> TenantSession:
        """What is about a whole tenant, closed or not."""
        if self._tenants is None:
            raise AssertionError("an API without tenants has no route of their administrators")
        caller = request.caller
        access = self._open_access(caller)
        return TenantSession(self._tenants, access, caller.subject, self._archive)

    def _start_cascade(self, request: HttpRequest, item: Image) -> str:
        """See `Book.start_cascade`."""
        return self._open_session(request).jobs.delete_item(item).id

    def _open_access(self, caller: Caller) -> Access:
        return Access(caller, self._access_rules, self._lineage)


def _build_refusal(excess: Excess) -> OverQuota:
    name, seconds = excess.limit, excess.seconds
    detail = f"the tenant is over its limit of {name.replace('_', ' ')}: wait for {seconds} s"
    if name == "items":
        detail = "the tenant has as many items as it may have: delete some before you create one"
    return OverQuota(detail, name, seconds)
