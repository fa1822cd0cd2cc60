"""The project that a command works for: that of the folder in which it is started."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import typer

from daicho.declare.registry import Daicho
from daicho.errors import ProjectError
from daicho.plan import Ledger
from daicho.project import Project


@cache
def _find(folder: Path) -> Project:
    return Project.find(folder)


def find_project() -> Project:
    """The project; exits with 1 if there is none, or its configuration is wrong."""
    try:
        return _find(Path.cwd())
    except ProjectError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None


def find_root() -> Path:
    """The folder of the project; the working folder if it is in none.

    For defaults of options, which are made before a command can refuse.
    """
    try:
        return _find(Path.cwd()).root
    except ProjectError:
        return Path.cwd()


def discover_project() -> Daicho:
    """All domains of the project; exits with 1 if it has no package of domains."""
    try:
        return find_project().discover()
    except ProjectError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None


def load_ledger() -> Ledger:
    """The generations in the lock file; exits with 1 if the file belongs to another project."""
    try:
        return find_project().load_ledger()
    except ProjectError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
