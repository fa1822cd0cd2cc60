"""Bad input, for every route of the project's own domains."""

from tests.integration.web.test_bad_input import *  # noqa: F403
from tests.support.project_routes import PROJECT_ROUTES

ROUTES = PROJECT_ROUTES
