"""All routes of operators."""

from __future__ import annotations

from daicho.operations.routes.actions import build_action_routes
from daicho.operations.routes.health import build_health_routes
from daicho.operations.routes.quarantine import build_quarantine_routes
from daicho.operations.routes.redrives import build_redrive_routes
from daicho.web.http.operation import Operation


def build_operations() -> list[Operation]:
    """The routes."""
    return [
        *build_health_routes(),
        *build_quarantine_routes(),
        *build_redrive_routes(),
        *build_action_routes(),
    ]
