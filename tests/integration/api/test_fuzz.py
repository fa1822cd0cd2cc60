"""Requests drawn from the description of the project's own routes, and spoilt."""

import pytest

from tests.integration.web.test_fuzz import *  # noqa: F403
from tests.support.project_routes import PROJECT_ROUTES

ROUTES = PROJECT_ROUTES
pytestmark = pytest.mark.skipif(not ROUTES.all, reason="the project has no domains")
