"""Lambda `ops` of stage local: operators can also let the projector refuse records."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from daicho.runtime.start_up import build_on_access, pause_garbage_collection

with pause_garbage_collection():
    from daicho.handlers import ops as library
    from daicho.handlers.wiring.dependencies import AWS_DEPENDENCIES, Dependencies
    from daicho.handlers.wiring.invocation import Handler
    from daicho.local.wrapping import load_handler
    from daicho.plan import Ledger

if TYPE_CHECKING:
    from daicho.web.http.operation import Operation


def build(
    environ: Mapping[str, str],
    ledger: Ledger | None = None,
    dependencies: Dependencies = AWS_DEPENDENCIES,
    **services: Any,
) -> Handler:
    """Build the library's handler with the routes of the switch."""
    services = {"list_more_operations": _list_poison_routes, **services}
    return library.build(environ, ledger, dependencies, **services)


def _list_poison_routes() -> Sequence[Operation]:
    from daicho.local.poison_routes import build_poison_routes  # noqa: PLC0415  # see ADR 0158

    return build_poison_routes()


__getattr__ = build_on_access(__name__, partial(load_handler, library, build, os.environ))
