"""The project of this repository, and its folder."""

from __future__ import annotations

from pathlib import Path

from daicho.project import Project

ROOT = Path(__file__).parents[2]
PROJECT = Project.find(ROOT)
PROGRAMS = ROOT / ".local"
"""The programs of the local AWS, which `make` installs."""
