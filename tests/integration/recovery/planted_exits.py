"""Faults planted in what takes a restored table over: the tests must find each of them.

``python -m tests.integration.recovery.planted_exits [name…]``; see `tests.property.planted_search`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.property.planted_search import find_all
from tests.support.planting import Fault, read_faults

TESTS = (
    "tests/integration/restore/test_lineage.py",
    "tests/integration/recovery/test_take_over.py",
    "tests/integration/commands/test_take_over.py",
)


def read_planted() -> list[Fault]:
    """The faults of ``planted_exits.toml``."""
    return read_faults(Path(__file__).parent / "planted_exits.toml")


if __name__ == "__main__":
    sys.exit(find_all(read_planted(), TESTS, sys.argv[1:]))
