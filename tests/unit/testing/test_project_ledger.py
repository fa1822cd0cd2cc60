"""The ledger of a project is the one that `daicho.project` checks."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from daicho.plan import Ledger
from daicho.testing.project_ledger import load_project_ledger
from tests.support.sample_entities import LEDGER


def test_the_project_of_the_folder_is_found_and_checked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folders: list[Path] = []

    class Project:
        @classmethod
        def find(cls, folder: Path) -> Project:
            folders.append(folder)
            return cls()

        def check(self) -> Ledger:
            return LEDGER

    monkeypatch.setitem(sys.modules, "daicho.project", SimpleNamespace(Project=Project))
    assert load_project_ledger(tmp_path) is LEDGER
    assert folders == [tmp_path]
