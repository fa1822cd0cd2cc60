"""The local stack of the library's own tests over HTTP, and the order of the tests on it."""

import pytest

from tests.e2e.conftest import place, stack

__all__ = ["place", "stack"]
FIRST, LAST = "test_faults", "test_restart"
"""The modules that check the whole table, while it is small, and that end what other tests need."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests of a module first, and those of another one last."""
    items.sort(key=lambda item: (item.path.stem != FIRST, item.path.stem == LAST))
