"""The sections of the changelog between two versions.

The changelog has the form of Keep a Changelog. Each version's section has a part ``Upgrading``:
what a project has to do, or that it has nothing to do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.version import InvalidVersion, Version

HEADING = re.compile(r"^## \[(?P<name>[^\]]+)\]", re.MULTILINE)
UPGRADING = re.compile(r"^### Upgrading\n(?P<text>.*?)(?=^### |\Z)", re.MULTILINE | re.DOTALL)
PACKAGED = Path(__file__).parents[1] / "CHANGELOG.md"
"""In the repository a link to the file at its root, so that the wheel contains it."""


@dataclass(frozen=True)
class Section:
    """The section of one version; ``text`` without its heading."""

    version: Version
    text: str

    @property
    def upgrading(self) -> str | None:
        """What a project has to do; None if the section has no part about it."""
        part = UPGRADING.search(self.text)
        return part["text"].strip() if part else None


def read_changelog() -> str:
    """The changelog of the installed version."""
    return PACKAGED.read_text(encoding="utf-8")


def parse_sections(changelog: str) -> Iterator[Section]:
    """The sections of released versions, in the order of the file."""
    headings = list(HEADING.finditer(changelog))
    for number, heading in enumerate(headings):
        try:
            version = Version(heading["name"])
        except InvalidVersion:
            continue  # [Unreleased]
        body = changelog.find("\n", heading.end())
        end = headings[number + 1].start() if number + 1 < len(headings) else len(changelog)
        yield Section(version, changelog[body:end].strip() if body >= 0 else "")


def select_sections(changelog: str, current: str, target: str) -> list[Section]:
    """The sections after version ``current``, up to and with ``target``, the newest first."""
    low, high = Version(current), Version(target)
    chosen = [each for each in parse_sections(changelog) if low < each.version <= high]
    return sorted(chosen, key=lambda section: section.version, reverse=True)
