"""The site builds without a warning, loads nothing of others, and its search answers questions."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import daicho
from tests.docs.pages import DOCS, ROOT
from tests.docs.site import build_site, search_site

HERE = Path(__file__).parent
QUESTIONS = tomllib.loads((HERE / "questions.toml").read_text("utf-8"))["question"]
MAX_RANK = 3
# What a browser fetches: a link that a reader follows is no such thing.
FETCHED = re.compile(
    r"""(?:<(?:script|img|iframe|source)[^>]*\ssrc|<link[^>]*\shref)="(https?:)?//"""
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    folder = tmp_path_factory.mktemp("site")
    assert build_site(folder) == ""
    return folder


def test_a_page_loads_nothing_of_others(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) >= len(list(DOCS.glob("*/**/*.md")))
    assert [page.name for page in pages if FETCHED.search(page.read_text("utf-8"))] == []


def test_a_broken_link_fails_the_build(tmp_path: Path) -> None:
    pages = tmp_path / "docs"
    pages.mkdir()
    (pages / "index.md").write_text("# Home\n\n[a](#there)\n", "utf-8")
    settings = (ROOT / "mkdocs.yml").read_text("utf-8").replace("\nhooks:", "\n#hooks:")
    configuration = tmp_path / "mkdocs.yml"
    configuration.write_text(settings.replace("exclude_docs: |", "not_in_nav: |"), "utf-8")
    printed = build_site(tmp_path / "site", configuration)
    assert "'#there'" in printed
    assert "exit 1" in printed


def test_the_api_reference_has_every_public_name(site: Path) -> None:
    page = (DOCS / "reference/python-api.md").read_text("utf-8")
    assert sorted(re.findall(r"^::: daicho\.(\w+)$", page, re.MULTILINE)) == daicho.__all__
    shown = (site / "reference/python-api.html").read_text("utf-8")
    assert [name for name in daicho.__all__ if f'id="daicho.{name}"' not in shown] == []


@pytest.fixture(scope="module")
def results(site: Path) -> dict[str, list[str]]:
    """The pages that the search finds, by question."""
    texts = [question["text"] for question in QUESTIONS]
    return dict(zip(texts, search_site(site, texts), strict=True))


def test_there_are_26_questions() -> None:
    assert len({question["text"] for question in QUESTIONS}) == len(QUESTIONS) == 26


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: str(question["text"]))
def test_a_question_finds_its_page(
    question: dict[str, list[str]], results: dict[str, list[str]]
) -> None:
    best = results[str(question["text"])][:MAX_RANK]
    assert set(best) & set(question["pages"]), f"found: {best}"


def test_the_search_finds_nothing_for_a_word_that_no_page_has(site: Path) -> None:
    assert search_site(site, ["xylophone"]) == [[]]
