"""Lambda `ops` of stage local: operators can also let the projector refuse records."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from daicho.handlers import ops as library
from daicho.handlers.wiring.dependencies import AWS_DEPENDENCIES, Dependencies
from daicho.handlers.wiring.invocation import Handler
from daicho.local.poison_routes import build_poison_routes
from daicho.local.wrapping import load_handler
from daicho.plan import Ledger
from daicho.runtime.start_up import build_on_access


def build(
    environ: Mapping[str, str],
    ledger: Ledger | None = None,
    dependencies: Dependencies = AWS_DEPENDENCIES,
    **services: Any,
) -> Handler:
    """Build the library's handler with the routes of the switch."""
    routes = build_poison_routes()
    return library.build(environ, ledger, dependencies, more_operations=routes, **services)


__getattr__ = build_on_access(__name__, partial(load_handler, library, build))
