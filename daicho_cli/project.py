"""The project that a command works for: that of the folder in which it is started."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from daicho.errors import ProjectError
from daicho.plan import Ledger
from daicho.project import Project

if TYPE_CHECKING:
    from daicho.declare.registry import Daicho


@cache
def _find(folder: Path) -> Project:
    return Project.find(folder)


def find_project() -> Project:
    """The project.

    Raises:
        ProjectError: there is none, or its configuration is wrong.
    """
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
    """All domains of the project.

    Raises:
        ProjectError: there is no project, or it has no package of domains.
    """
    return find_project().discover()


def load_ledger() -> Ledger:
    """The generations in the lock file, with the project's field migrations.

    Raises:
        ProjectError: there is no project, or the file belongs to another one.
    """
    project = find_project()
    return replace(project.load_ledger(), functions=project.load_migrations())
