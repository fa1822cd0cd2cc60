"""Every changing route of the demonstration under a key, failing at each of its calls."""

from tests.demonstration.support.routes import DEMONSTRATION_ROUTES
from tests.integration.web.test_faults import *  # noqa: F403

ROUTES = DEMONSTRATION_ROUTES
