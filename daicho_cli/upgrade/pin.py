"""The version of Daicho that a project's ``pyproject.toml`` pins: read, and rewritten.

Dependencies, extras and dependency groups may all name Daicho; they pin one version. The rest of
the file keeps its form, with comments.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import tomlkit
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from tomlkit.exceptions import TOMLKitError

from daicho_cli.upgrade.errors import UpgradeError

PACKAGE = "daicho"


@dataclass(frozen=True)
class Pin:
    """The pinned version, and the extras and dependency groups of the project that pin it."""

    version: Version
    extras: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Place:
    """A requirement of Daicho: entry ``index`` of a list of the document."""

    entries: Any
    index: int
    requirement: Requirement
    extra: str = ""
    group: str = ""


def find_pin(text: str) -> Pin:
    """The pin in the text of a ``pyproject.toml``.

    Raises:
        UpgradeError: it is no TOML, pins no version of Daicho, or more than one.
    """
    places = list(_list_places(_parse(text)))
    versions = {version for place in places for version in _list_versions(place.requirement)}
    loose = [str(p.requirement) for p in places if not list(_list_versions(p.requirement))]
    if loose or not versions:
        found = f" (it has {', '.join(loose)})" if loose else ""
        raise UpgradeError(
            f"pyproject.toml pins no version of {PACKAGE}{found}: write {PACKAGE}==VERSION with "
            "the installed version into its dependencies"
        )
    if len(versions) > 1:
        listed = " and ".join(str(version) for version in sorted(versions))
        raise UpgradeError(f"pyproject.toml pins {PACKAGE} {listed}: pin one version")
    return Pin(
        versions.pop(),
        tuple(dict.fromkeys(place.extra for place in places if place.extra)),
        tuple(dict.fromkeys(place.group for place in places if place.group)),
    )


def rewrite_pin(text: str, version: Version) -> str:
    """The text with another version in each pin.

    Raises:
        UpgradeError: it has no pin to rewrite.
    """
    current = find_pin(text).version
    document = _parse(text)
    for place in _list_places(document):
        entry = str(place.entries[place.index])
        (written,) = [spec.version for spec in place.requirement.specifier]
        head, separator, tail = entry.rpartition(written)
        place.entries[place.index] = f"{head}{version}{tail}" if separator else entry
    rewritten = tomlkit.dumps(document)
    if version != current and find_pin(rewritten).version != version:
        raise UpgradeError(f"the pin of {PACKAGE} in pyproject.toml cannot be rewritten: change it")
    return rewritten


def _parse(text: str) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise UpgradeError(f"pyproject.toml cannot be read: {error}") from error


def _list_places(document: Any) -> Iterator[_Place]:
    project = document.get("project", {})
    lists = [("", "", project.get("dependencies", []))]
    lists += [(name, "", each) for name, each in project.get("optional-dependencies", {}).items()]
    lists += [("", name, each) for name, each in document.get("dependency-groups", {}).items()]
    for extra, group, entries in lists:
        for index, entry in enumerate(entries):
            if not isinstance(entry, str):
                continue  # a dependency group may include another one
            try:
                requirement = Requirement(entry)
            except InvalidRequirement:
                continue
            if canonicalize_name(requirement.name) == PACKAGE:
                yield _Place(entries, index, requirement, extra, group)


def _list_versions(requirement: Requirement) -> Iterator[Version]:
    """The version that a requirement pins, if it does."""
    specifiers = list(requirement.specifier)
    if len(specifiers) == 1 and specifiers[0].operator == "==":
        version = specifiers[0].version
        if not version.endswith("*"):
            yield Version(version)
