"""Faults planted in the search kernel: the properties must find each of them.

``python -m tests.property.planted_search [name…]`` copies the library, plants one fault after
another, and says which test found it. The exit status is 1 if one is never found.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.support.planting import Fault, copy_library, read_faults, run_tests

TESTS = (
    "tests/property/test_walk.py",
    "tests/property/test_search.py",
    "tests/property/test_ranges.py",
)
SECONDS = 300


def read_planted() -> list[Fault]:
    """The faults of ``planted_search.toml``."""
    return read_faults(Path(__file__).parent / "planted_search.toml")


def found_by(fault: Fault, tests: Sequence[str] = TESTS) -> str | None:
    """Plant a fault in a copy of the library; the test that fails, or None."""
    with copy_library(fault) as library:
        try:
            done = run_tests(library, ("-x", *tests), seconds=SECONDS)
        except subprocess.TimeoutExpired:
            return "a walk that does not end"
    failed = re.search(r"^(?:FAILED|ERROR) \S+::(\S+)", done.stdout, re.MULTILINE)
    if done.returncode not in (0, 1) or (done.returncode == 1 and not failed):
        raise RuntimeError(f"{fault.name}: {done.stdout}{done.stderr}")
    return failed[1] if failed else None


def find_all(planted: Sequence[Fault], tests: Sequence[str], chosen: Sequence[str]) -> int:
    """Plant the faults whose names hold one of the given texts, or all; 1 if one is not found."""
    missed = 0
    for fault in planted:
        if chosen and not any(each in fault.name for each in chosen):
            continue
        began = time.monotonic()
        found = found_by(fault, tests)
        missed += found is None
        seconds = time.monotonic() - began
        sys.stdout.write(f"{seconds:5.0f} s  {fault.name}: {found or 'NEVER FOUND'}\n")
        sys.stdout.flush()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(find_all(read_planted(), TESTS, sys.argv[1:]))
