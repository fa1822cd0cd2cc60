"""Faults planted in the search kernel: the properties must find each of them.

``python -m tests.property.planted_search [name…]`` copies the library, plants one fault after
another, and says which test found it. The exit status is 1 if one is never found.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.support.planting import LIBRARY, ROOT, Fault, read_faults

TESTS = (
    "tests/property/test_walk.py",
    "tests/property/test_search.py",
    "tests/property/test_ranges.py",
)
SECONDS = 300


def read_planted() -> list[Fault]:
    """The faults of ``planted_search.toml``."""
    return read_faults(Path(__file__).parent / "planted_search.toml")


def found_by(fault: Fault) -> str | None:
    """Plant a fault in a copy of the library; the test that fails, or None."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "daicho")
        shutil.copytree(ROOT / "functions/daicho", library)
        (Path(folder) / Path(fault.file).relative_to(LIBRARY)).write_text(fault.plant(), "utf-8")
        options = ("-x", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=no")
        path = ("-o", f"pythonpath={folder} .")
        try:
            done = subprocess.run(
                [sys.executable, "-m", "pytest", *options, *path, *TESTS],
                cwd=ROOT,
                env={**os.environ, "HYPOTHESIS_PROFILE": "found"},
                capture_output=True,
                text=True,
                check=False,
                timeout=SECONDS,
            )
        except subprocess.TimeoutExpired:
            return "a walk that does not end"
    failed = re.search(r"^(?:FAILED|ERROR) \S+::(\S+)", done.stdout, re.MULTILINE)
    if done.returncode not in (0, 1) or (done.returncode == 1 and not failed):
        raise RuntimeError(f"{fault.name}: {done.stdout}{done.stderr}")
    return failed[1] if failed else None


def main(chosen: list[str]) -> int:
    """Plant the faults whose names hold one of the given texts, or all."""
    missed = 0
    for fault in read_planted():
        if chosen and not any(each in fault.name for each in chosen):
            continue
        began = time.monotonic()
        found = found_by(fault)
        missed += found is None
        seconds = time.monotonic() - began
        sys.stdout.write(f"{seconds:5.0f} s  {fault.name}: {found or 'NEVER FOUND'}\n")
        sys.stdout.flush()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
