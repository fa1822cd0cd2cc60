"""The ledger of the project that a test belongs to."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from daicho.plan import Ledger


def load_project_ledger(folder: Path) -> Ledger:
    """The checked ledger of the project of a folder, or of the nearest folder above.

    Raises:
        daicho.errors.ProjectError: there is no project, or its configuration is wrong.
        daicho.errors.DeclarationError: a declaration is wrong, or changed without a generation.
    """
    # Imported on use: it loads Pydantic.
    project: Any = importlib.import_module("daicho.project")
    ledger: Ledger = project.Project.find(folder).check()
    return ledger
