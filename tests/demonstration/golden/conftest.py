"""``--record`` writes the recorded files again."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.addoption("--record", action="store_true", help="write the recorded files again")
