"""Whether the lock files install without a build from source: `make check-locks`.

Each lock file is resolved against the registry with wheels only, for each supported Python and
each platform that docs/how-to/run-locally.md names. It asks the registry for metadata, so it is no
part of `make test`. The exit status is 1 if a wheel is missing anywhere.
"""

# ruff: noqa: T201  # it is a command

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from supply_chain.locks import PYTHON_LOCKS
from tests.package.test_metadata import PYTHONS, ROOT

PLATFORMS = {
    "Linux x86-64, WSL 2": "x86_64-manylinux_2_28",
    "Linux arm64": "aarch64-manylinux_2_28",
    "macOS arm64": "aarch64-apple-darwin",
}
"""What uv calls them. glibc 2.28: Debian 10, Ubuntu 20.04, Amazon Linux 2023, and later."""
AT_ONCE = 4


class Case(NamedTuple):
    """A lock file on a platform, with a Python."""

    lock: str
    platform: str
    python: str

    def resolve(self) -> str:
        """What uv says against it; nothing if there is a wheel of everything."""
        uv = Path(sys.executable).parent / "uv"
        with tempfile.TemporaryDirectory() as empty:
            command: list[str | Path] = [
                *(uv, "pip", "install", "--dry-run", "--quiet", "--target", empty),
                *("--only-binary", ":all:", "--no-deps", "--require-hashes"),
                *("--python-platform", PLATFORMS[self.platform], "--python-version", self.python),
                *("-r", ROOT / self.lock),
            ]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stderr.strip() if done.returncode else ""


def list_cases() -> Iterator[Case]:
    """All of them."""
    for platform in PLATFORMS:
        for python in PYTHONS:
            yield from (Case(lock, platform, python) for lock in PYTHON_LOCKS)


def main() -> int:
    """Resolve all cases; print what fails, and how many were resolved."""
    cases = list(list_cases())
    with ThreadPoolExecutor(AT_ONCE) as pool:
        problems = list(pool.map(Case.resolve, cases))
    for case, problem in zip(cases, problems, strict=True):
        if problem:
            print(f"{case.lock}, {case.platform}, Python {case.python}:\n{problem}\n")
    failed = sum(map(bool, problems))
    print(
        f"{len(PYTHON_LOCKS)} lock files, {len(PLATFORMS)} platforms, {len(PYTHONS)} Pythons: "
        f"{len(cases) - failed} of {len(cases)} resolve to wheels alone"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
