"""The generators of clients as they are installed here, and a folder where examples run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner

from daicho_cli.clients.generators import find_node
from daicho_cli.main import app

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / ".local"
NODE_MODULES = PROGRAMS / "typescript-client/node_modules"
GENERATORS = ("--programs", str(PROGRAMS))
TSC = (
    *("--noEmit", "--strict", "--target", "es2022", "--module", "nodenext"),
    *("--allowImportingTsExtensions", "--lib", "esnext,dom,dom.iterable"),
)


def generate(*options: str | Path) -> str:
    """Run `daicho clients` with the installed generators; its output, after success."""
    result = CliRunner().invoke(app, ["clients", *GENERATORS, *map(str, options)])
    assert result.exit_code == 0, result.output
    return result.output


def refuse(*options: str | Path) -> str:
    """Run `daicho clients`, which must not succeed; what it says."""
    result = CliRunner().invoke(app, ["clients", *GENERATORS, *map(str, options)])
    assert result.exit_code == 2, result.output
    return result.output


def copy_examples(folder: Path, *sources: Path) -> None:
    """Put files into the places that they have in the repository, beside the packages of npm."""
    for source in sources:
        place = folder / source.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, place)
    (folder / "node_modules").symlink_to(NODE_MODULES)


def check_python(folder: Path, *files: str | Path) -> None:
    """Check files with mypy --strict; the client is in clients/python."""
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir=.mypy"]
    environment = {**os.environ, "MYPYPATH": "clients/python"}
    run([*command, "--explicit-package-bases", *map(str, files)], folder, environment)


def check_typescript(folder: Path, *files: str | Path) -> None:
    """Check files with TypeScript's compiler."""
    run_node(folder, NODE_MODULES / "typescript/bin/tsc", *TSC, *files)


def run_node(folder: Path, *arguments: str | Path) -> str:
    """Run Node in a folder; what it prints."""
    return run([find_node(), *map(str, arguments)], folder, dict(os.environ))


def run(command: list[str], folder: Path, environment: dict[str, str]) -> str:
    """Run a program that must succeed; what it prints."""
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
