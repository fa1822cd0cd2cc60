"""Domain files are short and use the library's words alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import domains
from daicho.declare.registry import Daicho

ROOT = Path(__file__).parents[2]
FILES = sorted(p for p in (ROOT / "functions/domains").glob("*.py") if p.stem != "__init__")
MOST_LINES = 155
LIBRARY = {"daicho"}
"""What a domain may import of the library: its public names, as a domain of a user does."""
AWS = re.compile(r"\b(boto\w*|dynamodb|GSI\d|PK|SK|TableName|s3)\b", re.IGNORECASE)


def named(path: Path) -> str:
    return path.stem


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


@pytest.mark.parametrize("path", FILES, ids=named)
def test_a_domain_is_read_at_once(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= MOST_LINES


@pytest.mark.parametrize("path", FILES, ids=named)
def test_a_domain_makes_no_key_and_no_request(path: Path) -> None:
    ours = {each for each in imported(path) if each.split(".")[0] == "daicho"}
    assert ours <= LIBRARY
    code = ast.parse(path.read_text("utf-8"))
    texts = [n.value for n in ast.walk(code) if isinstance(n, ast.Constant)]
    names = [n.id for n in ast.walk(code) if isinstance(n, ast.Name)]
    said = [each for each in (*texts, *names) if isinstance(each, str) and "\n" not in each]
    docstrings = {ast.get_docstring(n) for n in ast.walk(code) if isinstance(n, _DOCUMENTED)}
    wrong = [each for each in said if each not in docstrings and (AWS.search(each) or "#" in each)]
    assert wrong == []


_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)


def test_a_domain_has_the_name_of_its_file() -> None:
    assert {each.name for each in Daicho.discover(domains).domains} == {p.stem for p in FILES}
