"""A test of any routes is called for those of its module's ``ROUTES``."""

from tests.support.described_routes import parametrize_operations as pytest_generate_tests
from tests.support.described_routes import routes

__all__ = ["pytest_generate_tests", "routes"]
