"""``python -m demonstration.remove FOLDER``: a copy of the repository without the demonstration.

What remains is the library, its tests and tools, and a project without domains. The pages of the
documentation stay as they are: they explain the library by the demonstration's systems.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from daicho.plan import Ledger
from daicho.plan.lockfile import write_lock_file
from demonstration import SYSTEMS, discover_demonstration

DOMAINS = Path("functions/domains")
LOCK_FILE = Path("functions/generations.json")
OTHERS = (
    *("tests/demonstration", "tests/console", "examples/book_queries.py", "examples/clients"),
    *("bench", "demonstration"),
)
"""Besides the domain files: tests, programs that the pages show, benchmarks, this package."""
NOTICE_SECTION = re.compile(
    r"^Third-party data of the demonstration.*?\n(?=Packages that are installed)",
    re.MULTILINE | re.DOTALL,
)
SAMPLE_DATA = re.compile(r'^sample_data = "[^"]*"\n', re.MULTILINE)
EDITS = {
    "NOTICE": NOTICE_SECTION,
    "pyproject.toml": SAMPLE_DATA,
    ".pre-commit-config.yaml": re.compile(
        r" (?:demonstration|bench)\b(?=[\w .]* examples$)", re.MULTILINE
    ),
    ".github/workflows/long.yml": re.compile(r", bench(?=\]$)", re.MULTILINE),
}
"""What is removed from files that stay."""


class RemovalError(Exception):
    """The demonstration cannot be removed from the folder; the message says why."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command; exit with 1 and one sentence if it refuses."""
    parser = argparse.ArgumentParser(prog="python -m demonstration.remove", description=__doc__)
    parser.add_argument("folder", type=Path, help="a copy of the repository, which is changed")
    folder: Path = parser.parse_args(arguments).folder
    try:
        remove_demonstration(folder.resolve())
    except RemovalError as error:
        sys.exit(str(error))


def remove_demonstration(folder: Path) -> None:
    """Remove all that is the demonstration; domains that were added beside it stay.

    Raises:
        RemovalError: the folder is no copy of the repository with the demonstration, Git has
            uncommitted changes in it, which could not be restored, or its lock file is outdated.
    """
    _check_removable(folder)
    _run_daicho(folder, "generation", "--check")
    entities = {entity.__name__ for entity in discover_demonstration().entities}
    for path in (*(str(DOMAINS / f"{name}.py") for name in SYSTEMS), *OTHERS):
        _remove(folder / path)
    ledger = Ledger.load(folder / LOCK_FILE)
    remaining = {name: ledger.entities[name] for name in ledger.entities.keys() - entities}
    fields = {name: ledger.fields[name] for name in ledger.fields.keys() - entities}
    write_lock_file(replace(ledger, entities=remaining, fields=fields), folder / LOCK_FILE)
    for name, part in EDITS.items():
        text = (folder / name).read_text("utf-8")
        (folder / name).write_text(part.sub("", text), "utf-8")
    for command in ("docs", "openapi"):
        _run_daicho(folder, command)


def _check_removable(folder: Path) -> None:
    if not (folder / LOCK_FILE).is_file() or not (folder / DOMAINS / f"{SYSTEMS[0]}.py").is_file():
        raise RemovalError(f"{folder} is no copy of the repository with the demonstration")
    status = subprocess.run(  # noqa: S603
        ["git", "-C", str(folder), "status", "--porcelain", "--", "."],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
    )
    if status.returncode == 0 and status.stdout:
        raise RemovalError(
            f"{folder} has uncommitted changes: commit them, or name a copy of the repository"
        )


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _run_daicho(folder: Path, *command: str) -> None:
    """Run the command of the folder's own code."""
    path = os.pathsep.join([str(folder / "functions"), str(folder)])
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "daicho_cli.main", *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        called = f"daicho {' '.join(command)} failed in {folder}"
        raise RemovalError(f"{called}: {done.stdout.strip()}{done.stderr.strip()}")


if __name__ == "__main__":
    main()
