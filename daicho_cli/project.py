"""The declarations of the project, and the files that are generated from them."""

from __future__ import annotations

import importlib
from pathlib import Path

import typer

from daicho.declare.registry import Daicho
from daicho.plan import LOCK_FILE, Ledger

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


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


def write_or_check(path: Path, text: str, *, check: bool, make: str) -> None:
    """Write a generated file; with ``check``, exit with 1 if the file is out of date."""
    shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    current = path.read_text(encoding="utf-8") if path.exists() else None
    if current == text:
        typer.echo(f"{shown} is up to date")
    elif check:
        typer.echo(f"{shown} is not what the declarations say; run {make}", err=True)
        raise typer.Exit(1)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        typer.echo(f"{shown} written")
