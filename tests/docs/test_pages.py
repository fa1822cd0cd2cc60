"""The pages and docstrings pass the checks: links, banned words, length of sentences, spelling."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.links import find_broken_links, find_renamed_links
from tests.docs.pages import ROOT, list_linked_pages, list_pages
from tests.docs.prose import find_banned_words, find_long_sentences
from tests.docs.rendering import find_unrendered_lists
from tests.docs.spelling import find_misspellings

PAGES = list_pages()
MAX_TERMS = 65
MAX_DECISIONS = 60
MAX_README_LINES = 130
MAX_WORDS = 120_000
"""Of all pages but the changelog: nobody keeps more of them true."""
DEPENDENCIES = (
    "0118-dependencies.md",
    "0139-supply-chain-tools.md",
    "0176-dependencies-of-the-local-stack.md",
)
REQUIREMENTS = (
    "requirements.in",
    "requirements-docs.in",
    "functions/daicho/cdk/functions/requirements-layer.in",
    "daicho_cli/local/requirements-ministack.in",
)


LINKED = list_linked_pages()


@pytest.mark.parametrize("page", LINKED, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_resolve(page: Path) -> None:
    assert [*find_broken_links(page), *find_renamed_links(page)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_sentences_are_short_and_plain(page: Path) -> None:
    assert [*find_banned_words(page), *find_long_sentences(page)] == []


@pytest.mark.parametrize("package", ["functions/daicho", "daicho_cli"])
def test_sentences_of_docstrings_are_short_and_plain(package: str) -> None:
    modules = sorted((ROOT / package).rglob("*.py"))
    assert len(modules) > 50
    assert [
        f"{module.relative_to(ROOT)}:{message}"
        for module in modules
        for message in (*find_banned_words(module), *find_long_sentences(module))
    ] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_lists_are_shown_on_the_site(page: Path) -> None:
    assert list(find_unrendered_lists(page)) == []


def test_spelling() -> None:
    assert list(find_misspellings(PAGES)) == []


def test_the_glossary_has_few_terms() -> None:
    page = (ROOT / "docs/explanation/glossary.md").read_text("utf-8")
    terms = [line for line in page.splitlines() if line.startswith("### ")]
    assert 50 < len(terms) <= MAX_TERMS
    assert terms == sorted(terms, key=str.lower)


def test_the_readme_is_short() -> None:
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    assert 50 < len(lines) <= MAX_README_LINES


def test_the_documentation_is_short() -> None:
    pages = [page for page in PAGES if page.name != "CHANGELOG.md"]
    assert len(pages) > 100
    words = sum(len(page.read_text("utf-8").split()) for page in pages)
    assert words <= MAX_WORDS


def test_every_decision_is_in_the_index_and_has_its_own_number() -> None:
    decisions = sorted((ROOT / "docs/adr").glob("0*.md"))
    index = (ROOT / "docs/adr/index.md").read_text("utf-8")
    assert [page.name for page in decisions if f"({page.name})" not in index] == []
    assert len({page.name[:4] for page in decisions}) == len(decisions)
    assert 0 < len(decisions) <= MAX_DECISIONS


@pytest.mark.parametrize("file", REQUIREMENTS)
def test_every_dependency_has_a_reason(file: str) -> None:
    """A package that a requirements file names is in a row of a decision about dependencies."""
    rows = "".join(
        line.partition(" | ")[0]
        for page in DEPENDENCIES
        for line in (ROOT / "docs/adr" / page).read_text("utf-8").splitlines()
        if line.startswith("| ")
    ).lower()
    lines = (ROOT / file).read_text("utf-8").splitlines()
    named = re.findall(r"^[a-z][\w-]*", "\n".join(lines), re.MULTILINE)
    assert named
    assert [name for name in named if name not in rows] == []
