"""The declarations of the project, their generations, and where its files are."""

from __future__ import annotations

import importlib
from pathlib import Path

import typer

from daicho.declare.registry import Daicho
from daicho.plan import LOCK_FILE, Ledger

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "docs/reference"


def discover_project() -> Daicho:
    """All domains of the project; exit with 1 if there is no package of domains to import."""
    try:
        domains = importlib.import_module("domains")
    except ModuleNotFoundError as error:
        if error.name != "domains":
            raise
        typer.echo("no package domains is importable: run daicho in a project's .venv", err=True)
        raise typer.Exit(1) from None
    return Daicho.discover(domains)


def load_ledger() -> Ledger:
    """The generations in the lock file; none if the file does not exist yet."""
    return Ledger.load() if LOCK_FILE.exists() else Ledger()
