"""The pages that the checks read, as blocks of prose with line numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FOLDERS = ("tutorial", "how-to", "reference", "explanation", "adr", "benchmarks")
# Replaces a code span: it begins like a name, and no pattern of the word list matches it.
CODE_WORD = "Code"
# A full stop after these ends no sentence.
ABBREVIATION = re.compile(r"\b(e\.g|i\.e|etc|vs|approx|no|fig)\.$", re.IGNORECASE)
SENTENCE_END = re.compile(r"""(?<=[.?!])(?<!\.\.)["')]*\s+(?=[A-Z0-9("'`[])""")
QUOTATION = re.compile(r'"[^"]*"|“[^”]*”')


@dataclass(frozen=True)
class Block:
    """A paragraph, a list item's text, a heading or a table cell: its first line and its text."""

    kind: str
    line: int
    text: str

    def sentences(self) -> Iterator[str]:
        """The sentences, without their quotations."""
        rest = ""
        for part in SENTENCE_END.split(QUOTATION.sub(CODE_WORD, self.text)):
            rest = f"{rest} {part}".strip()
            if not ABBREVIATION.search(rest):
                yield rest
                rest = ""
        if rest:
            yield rest


def list_pages() -> list[Path]:
    """The pages of the site, and those of the repository's first folder that are about it."""
    pages = [DOCS / "index.md", *(p for f in FOLDERS for p in sorted((DOCS / f).rglob("*.md")))]
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(p for p in pages if p.exists())]


def list_linked_pages() -> list[Path]:
    """All pages of the repository: their links resolve."""
    return [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]


@cache
def parse_text(text: str) -> tuple[Token, ...]:
    """The Markdown tokens of a text."""
    return tuple(MarkdownIt("commonmark").enable("table").parse(text))


def parse_page(path: Path) -> tuple[Token, ...]:
    """The Markdown tokens of a page."""
    return parse_text(path.read_text("utf-8"))


def read_inline(token: Token) -> str:
    """The text of an inline token: links by their text, code spans as one word."""
    parts = []
    for child in token.children or ():
        if child.type == "code_inline":
            parts.append(CODE_WORD)
        elif child.type in ("softbreak", "hardbreak"):
            parts.append(" ")
        elif child.type == "text":
            parts.append(child.content)
        elif child.type == "image":
            parts.append(read_inline(child))
    return "".join(parts)


def read_blocks(text: str) -> Iterator[Block]:
    """The blocks of a Markdown text: headings, paragraphs and table cells.

    Code and quotations are no blocks.
    """
    kinds: list[str] = []
    line = 1
    for token in parse_text(text):
        if token.map:
            line = token.map[0] + 1
        if token.nesting == 1:
            kinds.append(token.type.removesuffix("_open"))
        elif token.nesting == -1:
            kinds.pop()
        elif token.type == "inline" and "blockquote" not in kinds:
            kind = "table" if "table" in kinds else kinds[-1]
            yield Block(kind, line, read_inline(token))
