"""The ledger of a project is the one of the folder's project. The plugin's tests use a real one."""

from __future__ import annotations

from pathlib import Path

import pytest

from daicho.errors import ProjectError
from daicho.testing.project_ledger import load_project_ledger


def test_a_folder_without_a_project_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match="no Daicho project"):
        load_project_ledger(tmp_path)
