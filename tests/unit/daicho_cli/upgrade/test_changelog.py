"""The changelog: sections between two versions, and what each released version must have."""

from __future__ import annotations

from pathlib import Path

from packaging.version import Version

from daicho.runtime.version import VERSION
from daicho_cli.upgrade.changelog import parse_sections, read_changelog, select_sections

ROOT = Path(__file__).parents[4]
CHANGELOG = """# Changelog

## [Unreleased]

### Added

- Not yet.

## [0.2.0] - 2027-01-02

### Upgrading

- Nothing to do.

### Added

- A resource.

## [0.1.1] - 2026-12-24

### Fixed

- A fault.

## [0.1.0] - 2026-12-01
"""


def test_sections_after_the_current_version_up_to_the_new_one() -> None:
    def select(current: str, target: str) -> list[str]:
        return [str(each.version) for each in select_sections(CHANGELOG, current, target)]

    assert select("0.1.0", "0.2.0") == ["0.2.0", "0.1.1"]
    assert select("0.1.0", "0.1.1") == ["0.1.1"]
    assert select("0.2.0", "0.2.0") == []


def test_the_part_about_upgrading() -> None:
    sections = list(parse_sections(CHANGELOG))
    assert [each.upgrading for each in sections] == ["- Nothing to do.", None, None]
    assert sections[1].text == "### Fixed\n\n- A fault."
    assert sections[2].text == ""


def test_the_repository_has_the_changelog_of_its_package() -> None:
    assert read_changelog() == (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_every_released_version_has_a_part_about_upgrading() -> None:
    changelog = read_changelog()
    released = list(parse_sections(changelog))
    assert [each.version for each in released if not each.upgrading] == []
    assert [each.version for each in released if each.version > Version(VERSION)] == []
    # The section of the next release is written before the release.
    unreleased = changelog.partition("## [Unreleased]")[2].partition("\n## [")[0]
    assert "### Upgrading\n" in unreleased
