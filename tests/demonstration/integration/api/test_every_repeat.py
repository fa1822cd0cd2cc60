"""Every changing route of the demonstration under an Idempotency-Key."""

from tests.demonstration.support.routes import DEMONSTRATION_ROUTES
from tests.integration.web.test_repeats import *  # noqa: F403

ROUTES = DEMONSTRATION_ROUTES
