"""A pytest plugin that ends a run with an error unless the tests use the copy with the fault.

Pytest loads the library before any folder of ``pythonpath``, because it has a pytest plugin: a copy
that is found too late would be planted in vain, without a word.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import daicho


def pytest_sessionstart() -> None:
    """Compare where the library was loaded from with `PLANTED_LIBRARY`."""
    used, planted = Path(daicho.__file__).parents[1], Path(os.environ["PLANTED_LIBRARY"])
    if used != planted:
        raise pytest.UsageError(f"the tests use {used} instead of {planted}")
