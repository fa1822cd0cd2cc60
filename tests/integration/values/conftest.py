"""The catalogue in memory."""

from __future__ import annotations

import pytest

from tests.support.api_client import Client
from tests.support.catalogue_domains.products import domain
from tests.support.memory_served import MemoryServed, serve_in_memory


@pytest.fixture(scope="module")
def served() -> MemoryServed:
    return serve_in_memory(domain)


@pytest.fixture
def client(served: MemoryServed) -> Client:
    return served.client
