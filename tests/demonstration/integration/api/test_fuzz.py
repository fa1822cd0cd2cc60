"""Requests drawn from the description of the demonstration, and spoilt."""

from tests.demonstration.support.routes import DEMONSTRATION_ROUTES
from tests.integration.web.test_fuzz import *  # noqa: F403

ROUTES = DEMONSTRATION_ROUTES
