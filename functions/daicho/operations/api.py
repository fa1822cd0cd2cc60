"""The API of operators: each request needs the group `operator`, and none needs a tenant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from daicho.operations.operator_session import OperatorSession, OperatorTools
from daicho.operations.routes import build_operations
from daicho.runtime.token_claims import OPERATOR
from daicho.web.http.endpoint import BookOpener
from daicho.web.http.operation import Operation
from daicho.web.http.problems import HttpError
from daicho.web.http.request import HttpRequest
from daicho.web.http_api import HttpApi


class OperatorRequest(HttpRequest):
    """A request of an operator, which is of no tenant, whatever its token contains."""

    @property
    def tenant(self) -> str:
        """No tenant has an empty name."""
        return ""


class OperatorApi(HttpApi):
    """Answers requests to the routes under ``/ops``."""

    request_type = OperatorRequest

    def __init__(self, tools: OperatorTools, more_operations: Sequence[Operation] = ()) -> None:
        """``more_operations``: routes besides those of each stage."""
        super().__init__(tools.settings.api_url, tools.settings.claim_names)
        self.operations = [*build_operations(), *more_operations]
        self._tools = tools
        self.route(self.operations, cast("BookOpener", self._open_session))

    def check_access(self, incoming: HttpRequest) -> None:
        """Refuse everybody who is no operator, before any route is looked up.

        Raises:
            HttpError: 403.
        """
        if OPERATOR not in incoming.roles:
            raise HttpError(403, f"this takes the role {OPERATOR!r}")

    def _open_session(self, request: HttpRequest) -> OperatorSession:
        return self._tools.open_session(request.caller)
