"""The sample domains, served in memory: these tests send thousands of requests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.deployment import Served, serving_in_memory
from tests.support.described_routes import parametrize_operations as pytest_generate_tests
from tests.support.described_routes import routes
from tests.support.sample_project import DOMAIN_PACKAGE, LEDGER

__all__ = ["pytest_generate_tests", "routes"]


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving_in_memory(DOMAIN_PACKAGE, LEDGER) as deployed:
        yield deployed
