"""All routes of operators."""

from __future__ import annotations

from daicho.operations.routes.actions import build_action_routes
from daicho.operations.routes.demo import build_demo_routes
from daicho.operations.routes.health import build_health_routes
from daicho.operations.routes.quarantine import build_quarantine_routes
from daicho.operations.routes.redrives import build_redrive_routes
from daicho.web.http.operation import Operation


def build_operations(*, is_local: bool) -> list[Operation]:
    """The routes; those of the demonstration at stage local only."""
    return [
        *build_health_routes(),
        *build_quarantine_routes(),
        *build_redrive_routes(),
        *build_action_routes(),
        *(build_demo_routes() if is_local else ()),
    ]
