"""The ledger of the project that a test belongs to."""

from __future__ import annotations

from pathlib import Path

from daicho.plan import Ledger
from daicho.project import Project


def load_project_ledger(folder: Path) -> Ledger:
    """The checked ledger of the project of a folder, or of the nearest folder above.

    Raises:
        ProjectError: there is no project, or its configuration is wrong.
        DeclarationError: a declaration is wrong, or changed without a generation.
    """
    return Project.find(folder).check()
