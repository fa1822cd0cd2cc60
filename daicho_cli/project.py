"""The project that a command works for: that of the folder in which it is started."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from daicho.errors import ProjectError
from daicho.plan import Ledger
from daicho.project import Project
from daicho_cli.terminal import end_command

if TYPE_CHECKING:
    from daicho.declare.registry import Daicho


@cache
def _find(folder: Path) -> Project:
    return Project.find(folder)


@contextmanager
def _exit_without_project() -> Iterator[None]:
    """Exit with 1 and one sentence if the project lacks something."""
    try:
        yield
    except ProjectError as error:
        end_command(str(error), 1)


def find_project() -> Project:
    """The project; exits with 1 if there is none, or its configuration is wrong."""
    with _exit_without_project():
        return _find(Path.cwd())


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
    with _exit_without_project():
        return _find(Path.cwd()).discover()


def load_ledger() -> Ledger:
    """The generations in the lock file, with the project's field migrations.

    Exits with 1 if the file belongs to another project.
    """
    with _exit_without_project():
        project = _find(Path.cwd())
        return replace(project.load_ledger(), functions=project.load_migrations())
