"""The description of the project's own routes: complete, unique, and what is served."""

from tests.support.project_routes import PROJECT_ROUTES
from tests.unit.web.openapi.test_document_routes import *  # noqa: F403

ROUTES = PROJECT_ROUTES
