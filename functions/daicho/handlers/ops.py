"""Lambda `ops`: answers the requests of operators, about all tenants."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import Any

from daicho.runtime.start_up import build_on_access, pause_garbage_collection

with pause_garbage_collection():
    from daicho.handlers.wiring.dependencies import AWS_DEPENDENCIES, Dependencies
    from daicho.handlers.wiring.http_functions import with_telemetry
    from daicho.handlers.wiring.invocation import Handler
    from daicho.handlers.wiring.operator_api import OperatorApiOnFirstRequest
    from daicho.plan import Ledger
    from daicho.runtime.settings import Settings

FUNCTIONS = ("PROJECT_FUNCTION", "ARCHIVE_FUNCTION", "AUDIT_FUNCTION")
NEEDED = ("FAILURE_BUCKET", "JOB_MACHINE", "DIRTY_SHARDS", *FUNCTIONS)


def build(
    environ: Mapping[str, str],
    ledger: Ledger | None = None,
    dependencies: Dependencies = AWS_DEPENDENCIES,
    **services: Any,
) -> Handler:
    """Wire the function up; ``services``: others than AWS's, see `OperatorApiOnFirstRequest`."""
    settings = Settings.parse(environ, *NEEDED)
    ledger = ledger or Ledger.load_newest(settings.lock_file)
    api = OperatorApiOnFirstRequest(settings, ledger, dependencies, **services)
    return with_telemetry(api, traced=settings.stage != "local")


__getattr__ = build_on_access(__name__, partial(build, os.environ))
