"""The operators' API, built for the first request: what only it may call is imported here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from daicho.handlers.wiring.dependencies import Dependencies
from daicho.handlers.wiring.invocation import Context
from daicho.plan import Ledger
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.settings import Settings
from daicho.runtime.start_up import pause_garbage_collection

if TYPE_CHECKING:
    from daicho.operations.api import OperatorApi
    from daicho.operations.function_starter import FunctionStarter
    from daicho.web.http.operation import Operation

ATTEMPTS = 2
"""Attempts of one call: the gateway waits for 30 seconds."""


@dataclass(frozen=True)
class OperatorApiOnFirstRequest:
    """An `OperatorApi` that is built when it answers its first request.

    ``auditor``: by default the function of the settings. ``more_operations``: routes besides those
    of each stage.
    """

    settings: Settings
    ledger: Ledger
    dependencies: Dependencies
    auditor: FunctionStarter | None = None
    more_operations: Sequence[Operation] = ()

    def __call__(self, event: Mapping[str, Any], context: Context) -> dict[str, Any]:
        """Answer an event."""
        return self._api(event, context)

    @cached_property
    def _api(self) -> OperatorApi:
        with pause_garbage_collection():
            from daicho.operations.api import OperatorApi  # noqa: PLC0415  # it loads the routes
            from daicho.operations.function_starter import FunctionStarter  # noqa: PLC0415
            from daicho.operations.operator_session import OperatorTools  # noqa: PLC0415
            from daicho.web.http.request import ClaimNames  # noqa: PLC0415

            settings, dependencies = self.settings, self.dependencies
            tools = OperatorTools(
                settings,
                self.ledger,
                dependencies.table(settings.table_name, attempts=ATTEMPTS),
                dependencies.bucket(settings.failure_bucket, attempts=ATTEMPTS),
                dependencies.machine(settings.job_machine),
                self.auditor or FunctionStarter(settings.audit_function),
                dependencies.now,
            )
            names = (settings.tenant_claim, settings.groups_claims, settings.subject_claim)
            return OperatorApi(
                tools,
                server=settings.api_url,
                claim_names=ClaimNames(*names),
                more_operations=self.more_operations,
            )
