"""The commands work for the project of the folder in which they are started."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.sample_project import write_project


@pytest.fixture
def project(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the sample project, which is the working folder of the test."""
    folder = write_project(tmp_path_factory.mktemp("project"))
    monkeypatch.chdir(folder)
    return folder
