"""The code of the functions: the library, the project's packages and its lock file, in one folder.

What only a developer's machine or a deployment uses is left out: `daicho.cdk`, `daicho.testing`.
Handlers that fail on request are in the code of stage local only (ADR 0175).
The lock file is deployed a second time, apart from the code, so that code can be rolled back
without it (EXACTNESS rule 27). A function uses the newer one of the two.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path

from daicho.cdk.functions.layer import make_readable
from daicho.plan import LOCK_FILE_NAME
from daicho.project import Project

LIBRARY = Path(__file__).parents[2]
NOT_IN_FUNCTIONS = ("cdk", "testing", "local")
LOCAL_FUNCTIONS = ("project", "ops")
"""The functions for which `daicho.local` has a handler."""
NOT_CODE = shutil.ignore_patterns("__pycache__", "*.pyc", ".*", "node_modules")
"""What tools write, and hidden files, which may hold secrets."""


def gather_code(project: Project, *, is_local: bool = False) -> Path:
    """Copy the code of a project's functions into a temporary folder. ``is_local``: the stage."""
    folder = _make_folder("functions")
    copy_code(project, folder, is_local=is_local)
    return folder


def gather_ledger(project: Project) -> Path:
    """Copy a project's lock file into a temporary folder: the content of its layer."""
    folder = _make_folder("ledger")
    shutil.copyfile(project.lock_file, folder / LOCK_FILE_NAME)
    make_readable(folder)
    return folder


def _make_folder(content: str) -> Path:
    """A folder that CDK copies into its own output; it is removed when the process ends."""
    folder = Path(tempfile.mkdtemp(prefix=f"daicho-{content}-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def copy_code(project: Project, folder: Path, *, is_local: bool = False) -> None:
    """Copy the code of a project's functions into ``folder``. ``is_local``: for stage local.

    Raises:
        FileNotFoundError: the project lacks a package or its lock file, which `Project.check`
            refuses.
    """
    shutil.copytree(LIBRARY, folder / LIBRARY.name, ignore=_ignore_parts)
    if is_local:
        shutil.copytree(LIBRARY / "local", folder / LIBRARY.name / "local", ignore=NOT_CODE)
    for package in project.packages:
        shutil.copytree(project.source / package, folder / package, ignore=NOT_CODE)
    shutil.copyfile(project.lock_file, folder / LOCK_FILE_NAME)
    make_readable(folder)


def _ignore_parts(folder: str, names: list[str]) -> set[str]:
    parts = NOT_IN_FUNCTIONS if Path(folder) == LIBRARY else ()
    return {*NOT_CODE(folder, names), *(name for name in names if name in parts)}
