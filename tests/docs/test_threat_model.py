"""The threat model names tests that exist, and a test for every defence."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from tests.docs.pages import ROOT

PAGE = (ROOT / "docs/explanation/threat-model.md").read_text("utf-8")
NAMED = re.compile(r"`(tests/[\w/.]+\.py)(?:::(test_\w+))?`")
DEMONSTRATION = "tests/demonstration/"
"""It can be removed from a copy of the repository, with its tests."""


@cache
def list_tests(path: Path) -> frozenset[str]:
    """The test functions of a file."""
    tree = ast.parse(path.read_text("utf-8"))
    return frozenset(
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    )


def list_missing(text: str) -> list[str]:
    """The tests that a text names and that do not exist."""
    missing = []
    for file, test in NAMED.findall(text):
        path = ROOT / file
        if file.startswith(DEMONSTRATION) and not (ROOT / DEMONSTRATION).exists():
            continue
        if not path.exists() or not (list_tests(path) if not test else test in list_tests(path)):
            missing.append(f"{file}::{test}")
    return missing


def list_defences(text: str) -> list[str]:
    """The rows of the tables of defences."""
    section = text.partition("\n## Defences\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    return [row for row in rows if not row.startswith("| threat |")]


def test_every_named_test_exists() -> None:
    assert len(NAMED.findall(PAGE)) > 40
    assert list_missing(PAGE) == []
    limits = (ROOT / "docs/reference/limits.md").read_text("utf-8")
    assert len(NAMED.findall(limits)) > 25
    assert list_missing(limits) == []


def test_every_defence_names_a_test() -> None:
    defences = list_defences(PAGE)
    assert len(defences) > 25
    assert [row for row in defences if not NAMED.search(row.rpartition(" | ")[2])] == []


def test_a_test_that_does_not_exist_is_found() -> None:
    here = "tests/docs/test_threat_model.py"
    text = f"`{here}::test_every_named_test_exists` `{here}::test_gone` `tests/docs/test_gone.py`"
    assert list_missing(text) == [f"{here}::test_gone", "tests/docs/test_gone.py::"]
    assert list_missing("`tests/docs/prose.py`") == ["tests/docs/prose.py::"]
