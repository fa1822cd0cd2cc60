"""Nothing but the demonstration imports it, so that it can be removed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from demonstration import SYSTEMS
from tests.support.imports import Import, list_modules, read_imports
from tests.support.repository import ROOT

LIBRARY = ("daicho_cli", "infra", "tests", "examples")
FOLDERS = {"": ROOT / "functions", **dict.fromkeys(LIBRARY, ROOT)}
DEMONSTRATION = (
    *("bench.", "demonstration.", "tests.demonstration.", "examples.book_queries."),
    *("examples.clients.", *(f"domains.{name}." for name in SYSTEMS)),
)
NAMED = re.compile(r"\b(?:bench|demonstration|examples|domains)\b")


def list_others() -> dict[str, Path]:
    """The modules that are no part of the demonstration, by name."""
    modules = {
        name: path
        for package, folder in FOLDERS.items()
        for name, path in list_modules(folder, package).items()
    }
    return {k: path for k, path in modules.items() if not f"{k}.".startswith(DEMONSTRATION)}


def find_imports(modules: dict[str, Path]) -> Iterator[Import]:
    """Their imports of the demonstration. A module that names no part of it is not parsed."""
    named = {k: path for k, path in modules.items() if NAMED.search(path.read_text("utf-8"))}
    for each in read_imports(named):
        if f"{each.imported}.".startswith(DEMONSTRATION):
            yield each


def test_nothing_else_imports_it() -> None:
    modules = list_others()
    assert len(modules) > 400
    assert [str(each) for each in find_imports(modules)] == []


@pytest.mark.parametrize(
    "line", ["from domains.music import Song", "import demonstration", "from bench import votes"]
)
def test_an_import_of_it_is_found(line: str, tmp_path: Path) -> None:
    (tmp_path / "library.py").write_text(f"import domains\n{line}\n")
    (found,) = find_imports(list_modules(tmp_path))
    assert found.line == 2
