"""A book in memory, and a client of the API that serves it."""

from __future__ import annotations

import pytest

from tests.support.api_client import Client
from tests.support.sample_domain import FakeBook, serve


@pytest.fixture
def book() -> FakeBook:
    return FakeBook()


@pytest.fixture
def client(book: FakeBook) -> Client:
    return serve(book=book)
