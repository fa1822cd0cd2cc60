"""Lambda `ops`: answers the requests of operators, about all tenants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from daicho.runtime.start_up import build_on_access, pause_garbage_collection

with pause_garbage_collection():
    from daicho.handlers.wiring.dependencies import AWS_DEPENDENCIES, Dependencies
    from daicho.handlers.wiring.http_functions import build_on_first_request, with_telemetry
    from daicho.handlers.wiring.invocation import Handler
    from daicho.plan import Ledger
    from daicho.runtime.settings import Settings

if TYPE_CHECKING:
    from daicho.operations.function_starter import FunctionStarter
    from daicho.web.http.operation import Operation

FUNCTIONS = ("PROJECT_FUNCTION", "ARCHIVE_FUNCTION", "AUDIT_FUNCTION")
NEEDED = ("FAILURE_BUCKET", "JOB_MACHINE", "DIRTY_SHARDS", *FUNCTIONS)
ATTEMPTS = 2
"""Attempts of one call: the gateway waits for 30 seconds."""


def build(
    environ: Mapping[str, str],
    ledger: Ledger | None = None,
    dependencies: Dependencies = AWS_DEPENDENCIES,
    *,
    auditor: FunctionStarter | None = None,
    more_operations: Sequence[Operation] = (),
) -> Handler:
    """Wire the function up.

    ``auditor``: by default the function of the settings. ``more_operations``: routes besides those
    of each stage.
    """
    settings = Settings.parse(environ, *NEEDED)
    newest = ledger or Ledger.load_newest(settings.lock_file)

    def build_api() -> Handler:
        from daicho.operations.api import OperatorApi  # noqa: PLC0415  # it loads the routes
        from daicho.operations.function_starter import FunctionStarter  # noqa: PLC0415
        from daicho.operations.operator_session import OperatorTools  # noqa: PLC0415

        table = dependencies.table(settings.table_name, attempts=ATTEMPTS)
        failures = dependencies.bucket(settings.failure_bucket, attempts=ATTEMPTS)
        machine, now = dependencies.machine(settings.job_machine), dependencies.now
        stores = (table, failures, machine, auditor or FunctionStarter(settings.audit_function))
        return OperatorApi(OperatorTools(settings, newest, *stores, now), more_operations)

    return with_telemetry(build_on_first_request(build_api), traced=settings.stage != "local")


__getattr__ = build_on_access(__name__, build)
