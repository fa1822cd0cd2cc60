"""What the tests of the commands have in common: an archive of two tenants and two days."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.archive_commands import Commanded, commanded
from tests.support.memory_archive import DAY, MIDNIGHT


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Commanded]:
    """Three objects of two days. The working directory is empty."""
    monkeypatch.chdir(tmp_path)
    with commanded(monkeypatch) as made:
        made.kept.append(1, 2)
        made.kept.append(3, tenant="u")
        made.kept.append(4, at=MIDNIGHT + DAY)
        yield made
