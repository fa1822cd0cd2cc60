"""Checks of links inside the repository; addresses outside it are listed, not fetched."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from tests.docs.pages import ROOT, parse_page

ADDRESS = re.compile(r"^[a-z][a-z+.-]*:", re.IGNORECASE)
EXPLICIT_ANCHOR = re.compile(r"""<a (?:id|name)=["']([^"']+)["']""")


def slug(text: str) -> str:
    """The anchor of a heading, as code hosts and the site make it."""
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


def list_anchors(page: Path) -> Counter[str]:
    """The anchors of a page, and how many headings have each."""
    anchors: Counter[str] = Counter(EXPLICIT_ANCHOR.findall(page.read_text("utf-8")))
    tokens = parse_page(page)
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            text = "".join(
                child.content
                for child in inline.children or ()
                if child.type in ("text", "code_inline")
            )
            anchors[slug(text)] += 1
    return anchors


def list_links(page: Path) -> Iterator[tuple[int, str]]:
    """The lines and targets of a page's links and images."""
    for token in parse_page(page):
        line = token.map[0] + 1 if token.map else 0
        for child in token.children or ():
            target = child.attrGet("href") or child.attrGet("src")
            if target:
                yield line, str(target)


def find_renamed_links(page: Path) -> Iterator[str]:
    """The links whose text is the path of another file than the one that they lead to."""
    for token in parse_page(page):
        children = token.children or ()
        for opening, inline in pairwise(children):
            target = str(opening.attrGet("href") or "").partition("#")[0]
            is_path = inline.type == "code_inline" and inline.content.endswith((".py", ".js"))
            if opening.type == "link_open" and is_path and not target.endswith(inline.content):
                yield f"{token.map[0] + 1 if token.map else 0}: {inline.content}: leads to {target}"


def list_external_links(page: Path) -> Iterator[str]:
    """The addresses outside the repository."""
    yield from (target for _, target in list_links(page) if ADDRESS.match(target))


def find_broken_links(page: Path) -> Iterator[str]:
    """The links to files and anchors that do not exist, one message each."""
    for line, target in list_links(page):
        if ADDRESS.match(target):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        if not file.exists():
            yield f"{line}: {target}: no such file"
        elif not file.is_relative_to(ROOT) and page.is_relative_to(ROOT):
            yield f"{line}: {target}: outside the repository"
        elif anchor and file.suffix == ".md":
            headings = list_anchors(file)[anchor]
            if headings != 1:
                yield f"{line}: {target}: {headings} headings have this anchor"
        elif anchor and file.suffix != ".py":
            yield f"{line}: {target}: anchors are checked in Markdown pages only"
